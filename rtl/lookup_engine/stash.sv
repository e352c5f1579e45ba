// SPDX-License-Identifier: Apache-2.0
// Entries that found no slot, each with the rest of its key: all are compared with a request's
// key. An armed entry is on its way to a slot; a parked one waits until it is armed again.
// In a cycle at most one of alloc, update, remove and one of place, swap, park is asked for, and
// never one of either kind (the kick engine waits). Not handled: alloc when full.
module stash #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned Places = 16,
  localparam int unsigned PlaceW = Places == 1 ? 1 : $clog2(Places),
  localparam int unsigned CountW = $clog2(Places + 1),
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned TagW = lookup_pkg::TagW
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   en_i,
  input  logic [TagW-1:0]        tag_i,
  input  logic [BucketsLog2-1:0] rest_i,
  output logic                   hit_o,
  output logic [EntryW-1:0]      hit_entry_o,
  output logic                   full_o,
  output logic [CountW-1:0]      count_o,
  output logic                   armed_o,  // any

  // On the key above.
  input  logic                   alloc_i,
  input  logic                   update_i,
  input  logic                   remove_i,
  input  logic [EntryW-1:0]      entry_i,
  // Arms the next parked entry.
  input  logic                   rearm_i,

  // The kick engine: the first armed place, and what a place holds.
  output logic [PlaceW-1:0]      pick_o,
  input  logic [PlaceW-1:0]      kick_place_i,
  output logic                   kick_valid_o,
  output logic [BucketsLog2-1:0] kick_rest_o,
  output logic [EntryW-1:0]      kick_entry_o,
  input  logic                   kick_place_done_i,  // the entry has a slot
  input  logic                   kick_swap_i,
  input  logic                   kick_park_i,
  input  logic [BucketsLog2-1:0] kick_swap_rest_i,
  input  logic [EntryW-1:0]      kick_swap_entry_i
);
  logic [Places-1:0] valid_q, armed_q;
  logic [BucketsLog2-1:0] rest_q[Places];
  logic [EntryW-1:0] entry_q[Places];
  logic [PlaceW-1:0] turn_q;  // from where the next parked entry is looked for

  logic [Places-1:0] hit, alloc, rearm, kick, parked, turn, gone;

  always_comb begin
    hit = '0;
    hit_entry_o = '0;
    if (en_i && valid_q != '0) begin
      for (int unsigned p = 0; p < Places; p++) begin
        hit[p] = valid_q[p] && entry_q[p][TagW-1:0] == tag_i && rest_q[p] == rest_i;
        if (hit[p]) hit_entry_o = hit_entry_o | entry_q[p];
      end
    end
  end
  assign kick = Places'(1) << kick_place_i;
  assign kick_valid_o = |(valid_q & kick);
  assign kick_rest_o = rest_q[kick_place_i];
  assign kick_entry_o = entry_q[kick_place_i];
  assign count_o = CountW'($countones(valid_q));
  assign hit_o = |hit;
  assign full_o = &valid_q;
  assign armed_o = |armed_q;

  // The lowest free place; the next parked one from turn_q on, else the lowest.
  assign alloc = ~valid_q & (valid_q + Places'(1));
  assign parked = valid_q & ~armed_q;
  assign turn = parked & ~((Places'(1) << turn_q) - Places'(1));
  assign rearm = turn != '0 ? turn & (~turn + Places'(1)) : parked & (~parked + Places'(1));
  assign gone = (remove_i ? hit : '0) | (kick_place_done_i ? kick : '0);

  logic [PlaceW-1:0] rearm_place, write_place;
  always_comb begin
    pick_o = '0;
    rearm_place = '0;
    write_place = kick_place_i;
    if (armed_o) begin
      for (int unsigned p = Places; p > 0; p--) if (armed_q[p-1]) pick_o = PlaceW'(p - 1);
    end
    if (rearm_i) begin
      for (int unsigned p = 0; p < Places; p++) if (rearm[p]) rearm_place = PlaceW'(p);
    end
    if (alloc_i || update_i) begin
      for (int unsigned p = 0; p < Places; p++) begin
        if (alloc_i ? alloc[p] : hit[p]) write_place = PlaceW'(p);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      armed_q <= '0;
      turn_q <= '0;
    end else begin
      valid_q <= (valid_q | (alloc_i ? alloc : '0)) & ~gone;
      armed_q <= (armed_q | (alloc_i ? alloc : '0) | (rearm_i ? rearm : '0)) & ~gone &
                 ~(kick_park_i ? kick : '0);
      if (rearm_i && rearm != '0) begin
        turn_q <= rearm_place == PlaceW'(Places - 1) ? '0 : rearm_place + PlaceW'(1);
      end
    end
  end
  // One write a cycle.
  always_ff @(posedge clk_i) begin
    if (alloc_i || update_i || kick_swap_i) begin
      entry_q[write_place] <= kick_swap_i ? kick_swap_entry_i : entry_i;
    end
    if (alloc_i || kick_swap_i) rest_q[write_place] <= kick_swap_i ? kick_swap_rest_i : rest_i;
  end

`ifndef SYNTHESIS
  logic commits, kicks;
  assign commits = alloc_i || update_i || remove_i || rearm_i;
  assign kicks = kick_place_done_i || kick_swap_i || kick_park_i;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(alloc_i && full_o))
      else $error("an entry into a full stash");
      assert (!(commits && kicks))
      else $error("the kick engine and a request write the stash in one cycle");
      assert ($onehot0(hit))
      else $error("a key twice in the stash");
    end
  end
`endif
endmodule
