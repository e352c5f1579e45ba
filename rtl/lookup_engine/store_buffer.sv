// SPDX-License-Identifier: Apache-2.0
// Slot writes of one half that wait for their bank, in order, each as a whole entry. A newer write
// to a location makes the older one dead: it is skipped. A drained write lingers for reads that
// were on their way to the SRAM. What it holds overrides the SRAM: by location it kills a slot
// that was read (and tells whether it is free now), by tag it supplies the entry.
// Not handled: a push without a free place (see used_o).
module store_buffer #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned Slots = 4,
  parameter int unsigned Depth = 16,
  parameter int unsigned SramLatency = 1,
  localparam int unsigned SlotW = $clog2(Slots),
  localparam int unsigned PlaceW = $clog2(Depth),
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned TagW = lookup_pkg::TagW
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   push_i,
  input  logic [BucketsLog2-1:0] push_bucket_i,
  input  logic [SlotW-1:0]       push_slot_i,
  input  logic [EntryW-1:0]      push_entry_i,
  output logic [CountW-1:0]      used_o,  // places, lingering ones included
  output logic [1:0]             freed_o,  // of them, given back in this cycle: not for this push

  output logic                   drain_o,
  output logic [BucketsLog2-1:0] drain_bucket_o,
  output logic [SlotW-1:0]       drain_slot_o,
  output logic [EntryW-1:0]      drain_entry_o,
  input  logic                   drain_ready_i,
  output logic                   skip_o,  // what waited is dead: another takes its turn

  // S3: the places that hold a bucket, with what is pushed in this cycle.
  input  logic                   match_i,
  input  logic [BucketsLog2-1:0] match_bucket_i,
  output logic [Depth-1:0]       match_o,

  // S4: what the matched places say.
  input  logic                   forward_i,
  input  logic [Depth-1:0]       forward_match_i,
  input  logic [TagW-1:0]        forward_tag_i,
  output logic [Slots-1:0]       kill_o,
  output logic [Slots-1:0]       free_o,
  output logic                   hit_o,
  output logic [SlotW-1:0]       hit_slot_o,
  output logic [EntryW-1:0]      hit_entry_o,

  // The slots of a kick's bucket that have been written lately.
  input  logic                   kick_i,
  input  logic [BucketsLog2-1:0] kick_bucket_i,
  output logic [Slots-1:0]       kick_kill_o,

  output logic                   busy_o
);
  localparam int unsigned StateLsb = lookup_pkg::StateLsb;
  localparam int unsigned StateW = lookup_pkg::StateW;

  logic [Depth-1:0] valid_q, dead_q, drained_q, free_q;
  logic [BucketsLog2-1:0] bucket_q[Depth];
  logic [SlotW-1:0] slot_q[Depth];
  logic [EntryW-1:0] entry_q[Depth];
  logic [SramLatency*Depth-1:0] fresh_q;  // drained in the latest cycles, newest lowest
  logic [PlaceW-1:0] head_q, drain_q, tail_q;
  logic [CountW-1:0] used_q;

  function automatic logic [PlaceW-1:0] after(input logic [PlaceW-1:0] place);
    after = place == PlaceW'(Depth - 1) ? '0 : place + PlaceW'(1);
  endfunction

  // Of the next two writes to drain the first may be dead; it is skipped at no cost.
  logic [PlaceW-1:0] second, drain_place;
  logic skip, drains;
  assign second = after(drain_q);
  assign skip = valid_q[drain_q] && !drained_q[drain_q] && dead_q[drain_q];
  assign drain_place = skip ? second : drain_q;
  assign drain_o = valid_q[drain_place] && !drained_q[drain_place] && !dead_q[drain_place];
  assign drains = drain_o && drain_ready_i;
  assign drain_bucket_o = bucket_q[drain_place];
  assign drain_slot_o = slot_q[drain_place];
  assign drain_entry_o = entry_q[drain_place];

  // Places are given back in order, two a cycle: those drained for long enough, and those skipped
  // (a dead write need not linger: the newer one holds its location).
  logic [PlaceW-1:0] head_second;
  logic [Depth-1:0] over, fresh;
  logic pop_first, pop_second;
  always_comb begin
    fresh = '0;
    for (int unsigned i = 0; i < SramLatency; i++) fresh = fresh | fresh_q[i*Depth+:Depth];
  end
  assign over = valid_q & drained_q & ~fresh;
  assign head_second = after(head_q);
  assign pop_first = over[head_q];
  assign pop_second = pop_first && over[head_second];

  logic [Depth-1:0] pushed, popped, skipped, drained, dying;
  assign pushed = Depth'(push_i) << tail_q;
  assign popped = (Depth'(pop_first) << head_q) | (Depth'(pop_second) << head_second);
  assign skipped = Depth'(skip) << drain_q;
  assign drained = Depth'(drains) << drain_place;
  always_comb begin
    dying = '0;
    if (push_i) begin
      for (int unsigned p = 0; p < Depth; p++) begin
        dying[p] = valid_q[p] && bucket_q[p] == push_bucket_i && slot_q[p] == push_slot_i;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      dead_q <= '0;
      drained_q <= '0;
      fresh_q <= '0;
      head_q <= '0;
      drain_q <= '0;
      tail_q <= '0;
      used_q <= '0;
    end else begin
      valid_q <= (valid_q & ~popped) | pushed;
      dead_q <= (dead_q | dying) & ~pushed;
      drained_q <= (drained_q | skipped | drained) & ~pushed;
      fresh_q[0+:Depth] <= drained;
      for (int unsigned i = 1; i < SramLatency; i++) begin
        fresh_q[i*Depth+:Depth] <= fresh_q[(i-1)*Depth+:Depth];
      end
      if (drains) drain_q <= after(drain_place);
      else if (skip) drain_q <= second;
      if (pop_first) head_q <= pop_second ? after(head_second) : head_second;
      if (push_i) tail_q <= after(tail_q);
      used_q <= used_q + CountW'(push_i) - CountW'(pop_first) - CountW'(pop_second);
    end
  end
  always_ff @(posedge clk_i) begin
    if (push_i) begin
      bucket_q[tail_q] <= push_bucket_i;
      slot_q[tail_q] <= push_slot_i;
      entry_q[tail_q] <= push_entry_i;
      free_q[tail_q] <= push_entry_i[StateLsb+:StateW] == '0;
    end
  end

  logic push_matches;
  assign push_matches = push_bucket_i == match_bucket_i;
  always_comb begin
    match_o = '0;
    if (match_i) begin
      for (int unsigned p = 0; p < Depth; p++) begin
        match_o[p] = valid_q[p] && bucket_q[p] == match_bucket_i;
      end
      if (push_matches) match_o = match_o | pushed;
    end
  end

  logic [Depth-1:0] matched;
  assign matched = forward_match_i & valid_q & {Depth{forward_i}};
  always_comb begin
    kill_o = '0;
    free_o = '0;
    hit_o = 1'b0;
    hit_slot_o = '0;
    hit_entry_o = '0;
    if (matched != '0) begin
      for (int unsigned p = 0; p < Depth; p++) begin
        if (matched[p]) begin
          kill_o[slot_q[p]] = 1'b1;
          if (!dead_q[p] && free_q[p]) free_o[slot_q[p]] = 1'b1;
          if (!dead_q[p] && !free_q[p] && entry_q[p][TagW-1:0] == forward_tag_i) begin
            hit_o = 1'b1;
            hit_slot_o = hit_slot_o | slot_q[p];
            hit_entry_o = hit_entry_o | entry_q[p];
          end
        end
      end
    end
  end
  always_comb begin
    kick_kill_o = '0;
    if (kick_i) begin
      for (int unsigned p = 0; p < Depth; p++) begin
        if (valid_q[p] && bucket_q[p] == kick_bucket_i) begin
          kick_kill_o[slot_q[p]] = 1'b1;
        end
      end
    end
  end

  assign skip_o = skip;
  assign used_o = used_q;
  assign freed_o = 2'(pop_first) + 2'(pop_second);
  assign busy_o = |valid_q;

  if (Slots < 2 || Depth < 2) begin : gen_check
    $fatal(1, "store_buffer: Slots and Depth of 2 and more");
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(push_i && valid_q[tail_q]))
      else $error("a push into a full store buffer");
    end
  end
  matched_while_pushed : cover property (@(posedge clk_i) match_i && push_i && push_matches);
  lingering_forwarded : cover property (@(posedge clk_i) (matched & drained_q) != '0);
  dead_skipped : cover property (@(posedge clk_i) skip);
`endif
endmodule
