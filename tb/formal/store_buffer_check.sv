// SPDX-License-Identifier: Apache-2.0
// One half as a reader sees it: at one arbitrary location, whatever is pushed, drained and read, the
// SRAM's word and the store buffer together say what was written last. Reads take SramLatency + 3
// edges from S1 to S4, as in lookup_half. An input that breaks a rule of its environment ends the
// check for good (held).
module store_buffer_check #(
  parameter int unsigned SramLatency = 1,
  parameter int unsigned Depth = 3
) (
  input logic         clk_i,
  input logic [1:0]   bucket_i,  // of the location; taken in the first cycle
  input logic         slot_i,
  input logic [127:0] word_i,  // what it holds at first
  input logic         push_i,
  input logic [1:0]   push_bucket_i,
  input logic         push_slot_i,
  input logic [127:0] push_entry_i,
  input logic         drain_ready_i,
  input logic         read_i,
  input logic [61:0]  tag_i  // of the read, when it is in S4
);
  localparam int unsigned Stages = SramLatency + 2;  // of a read, after S1
  logic started_q = 1'b0;
  logic held_q = 1'b1;
  logic [1:0] bucket_q;
  logic slot_q;
  logic [127:0] sram_q, truth_q;
  logic [Stages-1:0] reads_q;
  logic [127:0] read_q[Stages];
  logic [Depth-1:0] match, match_q;
  logic [$clog2(Depth+1)-1:0] used;
  logic drain, hit, drain_slot, hit_slot, here;
  logic [1:0] drain_bucket, kill, free, unused_kick;
  logic [127:0] drain_entry, hit_entry;
  logic unused_skip, unused_busy;
  logic [1:0] unused_freed;

  store_buffer #(
    .BucketsLog2(2),
    .Slots(2),
    .Depth(Depth),
    .SramLatency(SramLatency)
  ) u_buffer (
    .clk_i,
    .rst_ni(started_q),
    .push_i(push_i && started_q),
    .push_bucket_i,
    .push_slot_i,
    .push_entry_i,
    .used_o(used),
    .freed_o(unused_freed),
    .drain_o(drain),
    .drain_bucket_o(drain_bucket),
    .drain_slot_o(drain_slot),
    .drain_entry_o(drain_entry),
    .drain_ready_i,
    .skip_o(unused_skip),
    .match_i(reads_q[Stages-2]),
    .match_bucket_i(bucket_q),
    .match_o(match),
    .forward_i(reads_q[Stages-1]),
    .forward_match_i(match_q),
    .forward_tag_i(tag_i),
    .kill_o(kill),
    .free_o(free),
    .hit_o(hit),
    .hit_slot_o(hit_slot),
    .hit_entry_o(hit_entry),
    .kick_i(1'b0),
    .kick_bucket_i('0),
    .kick_kill_o(unused_kick),
    .busy_o(unused_busy)
  );

  assign here = drain && drain_ready_i && drain_bucket == bucket_q && drain_slot == slot_q;
  // A push finds a place; a bank takes one access a cycle.
  logic rules;
  assign rules = !(push_i && 32'(used) == Depth) && !(read_i && here);

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    held_q <= held_q && (rules || !started_q);
    if (!started_q) begin
      bucket_q <= bucket_i;
      slot_q <= slot_i;
      sram_q <= word_i;
      truth_q <= word_i;
      reads_q <= '0;
    end else begin
      if (here) sram_q <= drain_entry;
      if (push_i && push_bucket_i == bucket_q && push_slot_i == slot_q) truth_q <= push_entry_i;
      reads_q <= {reads_q[Stages-2:0], read_i};
      read_q[0] <= sram_q;
      for (int unsigned i = 1; i < Stages; i++) read_q[i] <= read_q[i-1];
      match_q <= match;
    end
  end

  logic good;
  always_comb begin
    good = 1'b1;
    if (started_q && reads_q[Stages-1]) begin
      if (!kill[slot_q]) begin
        good = read_q[Stages-1] == truth_q;
      end else begin
        good = free[slot_q] == (truth_q[114:112] == '0);
        if (truth_q[114:112] != '0 && truth_q[61:0] == tag_i) good = good && hit;
        if (hit && hit_slot == slot_q && truth_q[114:112] != '0 && truth_q[61:0] == tag_i) begin
          // Another slot of the bucket may hold this tag only where a key is there twice.
          good = good && (hit_entry & truth_q) == truth_q;
        end
      end
    end
    assert (!held_q || good);
  end
endmodule
