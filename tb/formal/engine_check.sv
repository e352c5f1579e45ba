// SPDX-License-Identifier: Apache-2.0
// The whole engine, of two halves of two banks, four buckets of two slots each, from any state
// between requests: any entries in the SRAM, any writes that wait in the store buffers, any stash,
// armed or not, any victims. Of one key: in every cycle it is in exactly the places it should be,
// with the right entry, and every request on it commits with the answer that follows from the
// requests before. Requests are on it and on one other arbitrary key, one a cycle or fewer; kicks
// move all keys. The key is a parameter: a constant, because an arbitrary one makes the check a
// hundred times as long. Where the engine only compares keys and hashes them linearly, one stands
// for all: to XOR all tags with one, and the buckets with its hash, changes nothing else. That it
// does is not checked here, so the key should have a hash that is not zero, and another in each
// half. Widths are those of NARROW in prove; of an entry the state, the version and a bit of the
// frame are looked at, the rest is zero.
// A start or an input outside the rules ends the check for good (held).
// `prove` connects what is read of the engine's inside (p_...).
module engine_check #(
  parameter int unsigned Depth = 2,  // of a store buffer
  parameter int unsigned Kicks = 1,  // limit
  parameter logic [lookup_pkg::KeyW-1:0] Key = 6'b100111,
  parameter int unsigned Reach = 0,  // asserts instead that no run comes to what is listed below
  localparam int unsigned KeyW = lookup_pkg::KeyW,
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned TagW = lookup_pkg::TagW,
  localparam int unsigned StateLsb = lookup_pkg::StateLsb,
  localparam int unsigned VersionW = lookup_pkg::VersionW
) (
  input logic                           clk_i,
  input logic [KeyW-1:0]                other_key_i,  // taken in the first cycle
  input logic                           valid_i,
  input logic [2:0]                     op_i,
  input logic                           other_i,  // the request is on that
  input logic                           frame_i,
  input logic                           some_version_i,
  input logic                           mask_frame_i,
  input logic                           mask_version_i,
  input logic [VersionW-1:0]            version_i,
  input logic                           expect_i,
  input logic                           ready_i
);
  localparam int unsigned Slots = 2;
  localparam int unsigned Buckets = 4;
  localparam int unsigned Places = Buckets * Slots;  // of a half
  // The key's buckets, by the seeds of engine_stubs.sv.
  localparam logic [1:0] Bucket0 = Key[1:0] ^ {Key[2], Key[3]};
  localparam logic [1:0] Bucket1 = Key[1:0] ^ {Key[4], Key[5]};

  logic started_q = 1'b0;
  logic [KeyW-1:0] key, the_key, other_key_q, other_key;
  logic [EntryW-1:0] entry;
  logic [lookup_pkg::FieldsW-1:0] mask;
  always_comb begin
    entry = '0;
    entry[StateLsb] = 1'b1;  // not made free by INSERT or UPDATE
    entry[lookup_pkg::FrameLsb] = frame_i;
    entry[lookup_pkg::VersionLsb] = some_version_i;
    mask = {3'b000, mask_version_i, 3'b000, mask_frame_i, 1'b0};
  end
  assign the_key = Key;
  assign other_key = started_q ? other_key_q : other_key_i;
  assign key = other_i ? other_key : the_key;

  logic ready, unused_valid, unused_corrected, unused_uncorrectable, unused_reg_ready;
  logic unused_reg_valid, unused_reg_error, unused_stash, unused_idle, unused_id;
  logic [2:0] unused_status;
  logic [EntryW-1:0] unused_entry;
  logic [31:0] unused_data;
  lookup_engine #(
    .BucketsLog2(2),
    .Slots(Slots),
    .Banks(4),
    .Stash(1),
    .KickLimit(Kicks),
    .StoreBuffer(Depth),
    .IdW(1)
  ) u_engine (
    .clk_i,
    .rst_ni(1'b1),
    .req_valid_i(valid_i),
    .req_ready_o(ready),
    .req_op_i(op_i),
    .req_id_i(1'b0),
    .req_key_i(key),
    .req_entry_i(entry),
    .req_mask_i(mask),
    .req_expect_version_i(version_i),
    .req_expect_valid_i(expect_i),
    .rsp_valid_o(unused_valid),
    .rsp_ready_i(ready_i),
    .rsp_id_o(unused_id),
    .rsp_status_o(unused_status),
    .rsp_corrected_o(unused_corrected),
    .rsp_uncorrectable_o(unused_uncorrectable),
    .rsp_entry_o(unused_entry),
    .reg_valid_i(1'b0),
    .reg_ready_o(unused_reg_ready),
    .reg_write_i(1'b0),
    .reg_address_i(5'd0),
    .reg_data_i(32'd0),
    .reg_valid_o(unused_reg_valid),
    .reg_ready_i(1'b1),
    .reg_data_o(unused_data),
    .reg_error_o(unused_reg_error),
    .stash_count_o(unused_stash),
    .idle_o(unused_idle)
  );

  // ---- The engine's inside ----------------------------------------------------------------------
  (* keep *) logic [2*Places*EntryW-1:0] p_sram;  // half, bucket, slot
  (* keep *) logic [2*Depth-1:0] p_valid, p_dead, p_drained, p_free, p_slot, p_fresh;
  (* keep *) logic [4*Depth-1:0] p_bucket;
  (* keep *) logic [2*Depth*EntryW-1:0] p_entry;
  (* keep *) logic [1:0] p_head, p_tail, p_drain;  // one bit each: of two places
  (* keep *) logic [3:0] p_used;
  (* keep *) logic p_stash_valid, p_stash_armed;
  (* keep *) logic [1:0] p_stash_rest;
  (* keep *) logic [EntryW-1:0] p_stash_entry;
  (* keep *) logic [3:0] p_waiting;  // responses
  (* keep *) logic p_commit;  // a request is in S4
  (* keep *) logic [2:0] p_op, p_status;
  (* keep *) logic [KeyW-1:0] p_key;
  (* keep *) logic [EntryW-1:0] p_answer, p_new;
  (* keep *) logic [lookup_pkg::FieldsW-1:0] p_mask;
  (* keep *) logic [VersionW-1:0] p_version;
  (* keep *) logic p_expect;
  (* keep *) logic p_swap, p_park;  // of the kick engine

  // ---- What each slot holds, waiting writes included --------------------------------------------
  logic [2*Places*EntryW-1:0] held_entry;
  always_comb begin
    for (int unsigned i = 0; i < 2 * Places; i++) begin
      held_entry[i*EntryW+:EntryW] = p_sram[i*EntryW+:EntryW];
      for (int unsigned p = 0; p < Depth; p++) begin
        if (p_valid[i/Places*Depth+p] && !p_dead[i/Places*Depth+p] &&
            p_bucket[2*(i/Places*Depth+p)+:2] == 2'(i % Places / Slots) &&
            p_slot[i/Places*Depth+p] == 1'(i % Slots)) begin
          held_entry[i*EntryW+:EntryW] = p_entry[(i/Places*Depth+p)*EntryW+:EntryW];
        end
      end
    end
  end
  // The key of each place, and whether there is one; the stash is the last.
  logic [(2*Places+1)*KeyW-1:0] key_at;
  logic [(2*Places+1)*EntryW-1:0] entry_at;
  logic [2*Places:0] taken;
  assign entry_at = {p_stash_entry, held_entry};
  assign taken[2*Places] = p_stash_valid;
  assign key_at[2*Places*KeyW+:KeyW] = {p_stash_entry[TagW-1:0], p_stash_rest};
  for (genvar i = 0; i < 2 * Places; i++) begin : gen_place
    logic [TagW-1:0] tag;
    assign tag = held_entry[i*EntryW+:TagW];
    assign taken[i] = held_entry[i*EntryW+StateLsb];
    assign key_at[i*KeyW+:KeyW] = {tag, 2'(i % Places / Slots) ^
                                     (i < Places ? {tag[0], tag[1]} : {tag[2], tag[3]})};
  end

  // ---- Where the engine may start ---------------------------------------------------------------
  logic start;
  logic [2*Places:0] here, other_here;
  for (genvar i = 0; i <= 2 * Places; i++) begin : gen_here
    assign here[i] = taken[i] && key_at[i*KeyW+:KeyW] == the_key;
    assign other_here[i] = taken[i] && key_at[i*KeyW+:KeyW] == other_key;
  end
  always_comb begin
    start = p_stash_armed <= p_stash_valid && (!p_stash_valid || p_stash_entry[StateLsb]) &&
            p_waiting <= 4'd8;
    // Neither key is there twice.
    start = start && $onehot0(here) && $onehot0(other_here);
    for (int unsigned h = 0; h < 2; h++) begin
      // Writes that wait, from the head on; an older one is dead where a newer is of its location.
      if (p_drained[h*Depth+:Depth] != '0 || p_fresh[h*Depth+:Depth] != '0) start = 1'b0;
      if (p_drain[h] != p_head[h]) start = 1'b0;
      if (p_tail[h] != (p_head[h] ^ p_used[2*h])) start = 1'b0;
      if (p_used[2*h+:2] != 2'(p_valid[h*Depth]) + 2'(p_valid[h*Depth+1])) start = 1'b0;
      if (p_used[2*h+:2] == 2'd1 && !p_valid[h*Depth+32'(p_head[h])]) start = 1'b0;
      for (int unsigned p = 0; p < Depth; p++) begin
        if (p_dead[h*Depth+p] !=
            (p_used[2*h+:2] == 2'd2 && p_head[h] == 1'(p) &&
             p_bucket[4*h+:2] == p_bucket[4*h+2+:2] && p_slot[h*Depth] == p_slot[h*Depth+1])) begin
          start = 1'b0;
        end
        if (p_free[h*Depth+p] != !p_entry[(h*Depth+p)*EntryW+StateLsb]) start = 1'b0;
      end
    end
  end

  // ---- The one key ------------------------------------------------------------------------------
  logic held_q = 1'b1;
  logic there_q;
  logic [EntryW-1:0] the_entry_q, found, the_entry;
  always_comb begin
    found = '0;
    for (int unsigned i = 0; i <= 2 * Places; i++) begin
      if (here[i]) found = found | entry_at[i*EntryW+:EntryW];
    end
  end
  logic there, commits, mismatch, free;
  assign there = started_q ? there_q : |here;
  assign the_entry = started_q ? the_entry_q : found;
  assign commits = p_commit && p_key == the_key && p_op != lookup_pkg::OpScrub;
  assign mismatch = p_expect && the_entry[lookup_pkg::VersionLsb+:VersionW] != p_version;

  logic [EntryW-1:0] merged, inserted;
  always_comb begin
    merged = the_entry;
    if (p_mask[1]) merged[lookup_pkg::FrameLsb] = p_new[lookup_pkg::FrameLsb];
    if (p_mask[5]) merged[lookup_pkg::VersionLsb] = p_new[lookup_pkg::VersionLsb];
    inserted = {p_new[EntryW-1:TagW], the_key[KeyW-1:2]};
    free = !p_stash_valid;
    for (int unsigned i = 0; i < 2 * Places; i++) begin
      if (!taken[i] && 2'(i % Places / Slots) == (i < Places ? Bucket0 : Bucket1)) free = 1'b1;
    end
  end

  // What its commit must say, and what is true after it.
  logic [2:0] status;
  logic [EntryW-1:0] answer, entry_d;
  logic there_d, good, rules;
  always_comb begin
    status = there ? lookup_pkg::StHit : lookup_pkg::StMiss;
    answer = the_entry;
    there_d = there;
    entry_d = the_entry;
    case (p_op)
      lookup_pkg::OpInsert: begin
        status = there ? lookup_pkg::StExists : free ? lookup_pkg::StDone : lookup_pkg::StFull;
        if (!there) answer = free ? inserted : '0;
        there_d = there || free;
        if (!there) entry_d = inserted;
      end
      lookup_pkg::OpUpdate, lookup_pkg::OpDelete, lookup_pkg::OpEvict: begin
        if (there && mismatch && p_op != lookup_pkg::OpEvict) begin
          status = lookup_pkg::StVersionMismatch;
        end else if (there) begin
          status = lookup_pkg::StDone;
          there_d = p_op == lookup_pkg::OpUpdate;
          if (p_op == lookup_pkg::OpUpdate) begin
            answer = merged;
            entry_d = merged;
          end
        end
      end
      default: ;
    endcase
    good = $onehot0(here) && there == |here && (!there || found == the_entry);
    if (commits) begin
      good = good && p_status == status;
      if (status != lookup_pkg::StMiss && status != lookup_pkg::StFull) begin
        good = good && p_answer == answer;
      end
    end
    rules = op_i <= lookup_pkg::OpScrub && (started_q || start);
    assert (!(held_q && rules) || (Reach != 0 ? !reached : good));
  end

  // What the check must have time for: 1, a kick swaps and the next one parks, while a request
  // waits; 2, an INSERT of the key is answered FULL; 3, a kick moves it, and it is found then.
  logic swapped_q = 1'b0;
  logic parked_q = 1'b0;
  logic stalled_q = 1'b0;
  logic refused_q = 1'b0;
  logic moved_q = 1'b0;
  logic answered_q = 1'b0;
  logic reached;
  always_comb begin
    case (Reach)
      1: reached = swapped_q && parked_q && stalled_q;
      2: reached = refused_q;
      default: reached = answered_q;
    endcase
  end
  always_ff @(posedge clk_i) begin
    swapped_q <= swapped_q || p_swap;
    parked_q <= parked_q || (p_park && swapped_q);
    stalled_q <= stalled_q || (valid_i && !ready);
    refused_q <= refused_q || (commits && p_status == lookup_pkg::StFull);
    moved_q <= moved_q || (p_swap && here[2*Places]);
    answered_q <= answered_q || (moved_q && commits && p_status == lookup_pkg::StHit);
  end

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    held_q <= held_q && rules;
    other_key_q <= other_key;
    there_q <= commits ? there_d : there;
    the_entry_q <= commits ? entry_d : the_entry;
  end
endmodule
