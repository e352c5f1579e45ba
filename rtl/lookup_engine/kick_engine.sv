// SPDX-License-Identifier: Apache-2.0
// Moves one stash entry at a time towards a slot: pick, read of a bucket (lowest priority), SRAM,
// error correction, commit. A commit puts the entry into a free slot, or swaps it with a victim in
// one cycle, so that a key is in exactly one place at every edge, or parks it at the limit. It
// waits while a request writes the same half or the stash, and while the store buffer has no place
// to spare. A slot written since the read is neither taken nor moved; nor is one that is beyond
// correction. The entry may be edited meanwhile; its removal ends the walk.
module kick_engine #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned Slots = 4,
  parameter int unsigned StashPlaces = 16,
  parameter int unsigned KickLimit = 32,
  parameter int unsigned SramLatency = 1,
  localparam int unsigned SlotW = $clog2(Slots),
  localparam int unsigned PlaceW = StashPlaces == 1 ? 1 : $clog2(StashPlaces),
  localparam int unsigned KickW = $clog2(KickLimit + 2),
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned CodeW = lookup_pkg::CodeW,
  localparam int unsigned WordW = lookup_pkg::WordW,
  localparam int unsigned CheckW = lookup_pkg::CheckW,
  localparam int unsigned TagUsed = lookup_pkg::KeyW - BucketsLog2
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic [2*lookup_pkg::SeedW-1:0] seeds_i,

  // The stash.
  input  logic                        armed_i,
  input  logic [PlaceW-1:0]           pick_i,
  output logic [PlaceW-1:0]           place_o,
  input  logic                        place_valid_i,
  input  logic [BucketsLog2-1:0]      rest_i,
  input  logic [TagUsed-1:0]          tag_i,
  output logic                        placed_o,
  output logic                        swap_o,
  output logic                        park_o,
  output logic [BucketsLog2-1:0]      swap_rest_o,
  output logic [EntryW-1:0]           swap_entry_o,

  // The banks of either half.
  output logic [1:0]                  read_o,
  output logic [BucketsLog2-1:0]      bucket_o,
  input  logic [1:0]                  read_ready_i,
  output logic [1:0]                  take_o,  // this half's data is looked at
  input  logic [2*Slots*CodeW-1:0]    read_data_i,

  // The store buffers.
  input  logic [2*Slots-1:0]          kill_i,   // slots of the bucket written lately
  input  logic [1:0]                  room_i,   // a place to spare
  input  logic [1:0]                  commit_i,  // a request writes this half
  input  logic                        commit_stash_i,
  output logic [1:0]                  push_o,
  output logic [SlotW-1:0]            push_slot_o,

  output logic                        busy_o,
  output logic                        waits_o,  // for a bank, or for room to commit
  output logic                        kicked_o,
  output logic [KickW-1:0]            kicks_o
);
  typedef enum logic [2:0] {
    Idle = 3'd0,
    Pick = 3'd1,
    Read = 3'd2,
    Sram = 3'd3,
    Correct = 3'd4,
    Commit = 3'd5
  } state_e;

  state_e state_q, state_d;
  logic [PlaceW-1:0] place_q;
  logic half_q, origin_valid_q;
  logic [BucketsLog2-1:0] bucket_q;
  logic [KickW-1:0] kicks_q;
  logic [1:0] wait_q;  // cycles until the data is there
  logic [Slots-1:0] killed_q, kill;
  logic [Slots*CodeW-1:0] data_q;
  logic [Slots*EntryW-1:0] entries, entries_q;
  logic [Slots-1:0] bad, bad_q;
  logic [15:0] random_q;

  // The bucket of the entry in hand, in the other half than it comes from, or in either.
  logic half;
  logic [BucketsLog2-1:0] hash, victim_hash;
  logic [lookup_pkg::SeedW-1:0] seed, commit_seed;
  assign half = origin_valid_q ? !half_q : random_q[0];
  assign seed = half ? seeds_i[lookup_pkg::SeedW+:lookup_pkg::SeedW] :
                       seeds_i[0+:lookup_pkg::SeedW];
  toeplitz #(
    .TagUsed(TagUsed),
    .HashW(BucketsLog2)
  ) u_hash (
    .tag_i(tag_i),
    .seed_i(seed),
    .hash_o(hash)
  );

  logic granted;
  assign granted = half_q ? read_ready_i[1] : read_ready_i[0];

  for (genvar s = 0; s < Slots; s++) begin : gen_slot
    logic bad_0, bad_1, unused_0, unused_1;
    secded_dec u_word_0 (
      .en_i(state_q == Correct),
      .word_i(data_q[s*CodeW+:WordW]),
      .check_i(data_q[s*CodeW+EntryW+:CheckW]),
      .word_o(entries[s*EntryW+:WordW]),
      .corrected_o(unused_0),
      .bad_o(bad_0)
    );
    secded_dec u_word_1 (
      .en_i(state_q == Correct),
      .word_i(data_q[s*CodeW+WordW+:WordW]),
      .check_i(data_q[s*CodeW+EntryW+CheckW+:CheckW]),
      .word_o(entries[s*EntryW+WordW+:WordW]),
      .corrected_o(unused_1),
      .bad_o(bad_1)
    );
    assign bad[s] = bad_0 || bad_1;
    logic unused_corrected;
    assign unused_corrected = unused_0 || unused_1;
  end

  // Commit: a free slot, or the victim.
  assign kill = killed_q | (half_q ? kill_i[Slots+:Slots] : kill_i[0+:Slots]);
  logic any_free, any_usable, may_commit, commits, at_limit;
  logic [SlotW-1:0] free_slot, victim_slot, start;
  logic [EntryW-1:0] victim;
  assign start = random_q[1+:SlotW];
  always_comb begin
    any_free = 1'b0;
    any_usable = 1'b0;
    free_slot = '0;
    victim_slot = '0;
    victim = '0;
    if (state_q == Commit) for (int unsigned s = 0; s < Slots; s++) begin
      if (!any_free && !kill[s] && !bad_q[s] &&
          entries_q[s*EntryW+lookup_pkg::StateLsb+:lookup_pkg::StateW] == '0) begin
        any_free = 1'b1;
        free_slot = SlotW'(s);
      end
    end
    if (state_q == Commit) for (int unsigned s = 0; s < 2 * Slots; s++) begin
      if (!any_usable && s >= 32'(start) && !kill[s%Slots] && !bad_q[s%Slots]) begin
        any_usable = 1'b1;
        victim_slot = SlotW'(s % Slots);
        victim = entries_q[(s%Slots)*EntryW+:EntryW];
      end
    end
  end
  assign commit_seed = half_q ? seeds_i[lookup_pkg::SeedW+:lookup_pkg::SeedW] :
                                seeds_i[0+:lookup_pkg::SeedW];
  toeplitz #(
    .TagUsed(TagUsed),
    .HashW(BucketsLog2)
  ) u_victim_hash (
    .tag_i(victim[0+:TagUsed]),
    .seed_i(commit_seed),
    .hash_o(victim_hash)
  );

  assign at_limit = kicks_q >= KickW'(KickLimit);
  assign may_commit = place_valid_i && !commit_stash_i &&
                      (half_q ? room_i[1] && !commit_i[1] : room_i[0] && !commit_i[0]);
  assign commits = state_q == Commit && may_commit;
  assign placed_o = commits && any_free;
  assign swap_o = commits && !any_free && any_usable && !at_limit;
  assign park_o = commits && !any_free && at_limit;
  assign push_o = {half_q, !half_q} & {2{placed_o || swap_o}};
  assign push_slot_o = any_free ? free_slot : victim_slot;
  assign swap_entry_o = victim;
  assign swap_rest_o = bucket_q ^ victim_hash;
  assign kicked_o = swap_o;
  assign kicks_o = kicks_q + KickW'(1);

  assign busy_o = state_q != Idle;
  assign place_o = place_q;
  assign bucket_o = bucket_q;
  assign read_o = {half_q, !half_q} & {2{state_q == Read}};
  assign take_o = {half_q, !half_q} & {2{state_q == Sram}};
  assign waits_o = (state_q == Read && !granted) || (state_q == Commit && !may_commit);

  always_comb begin
    state_d = state_q;
    case (state_q)
      Idle: if (armed_i) state_d = Pick;
      Pick: state_d = Read;
      Read: if (granted) state_d = Sram;
      Sram: if (wait_q == '0) state_d = Correct;
      Correct: state_d = Commit;
      Commit: if (may_commit) state_d = placed_o || park_o ? Idle : Pick;
      default: state_d = Idle;
    endcase
    if (state_q != Idle && !place_valid_i) state_d = Idle;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      place_q <= '0;
      half_q <= 1'b0;
      origin_valid_q <= 1'b0;
      kicks_q <= '0;
      wait_q <= '0;
      random_q <= 16'hACE1;
    end else begin
      state_q <= state_d;
      if (state_q == Idle) begin
        place_q <= pick_i;
        kicks_q <= '0;
        origin_valid_q <= 1'b0;
      end
      if (state_q == Pick) half_q <= half;
      if (state_q == Read) wait_q <= 2'(SramLatency - 1);
      else if (state_q == Sram) wait_q <= wait_q - 2'd1;
      if (commits) begin
        random_q <= {random_q[14:0], random_q[15] ^ random_q[13] ^ random_q[12] ^ random_q[10]};
        // A bad bucket spends the kick and gives the other half a turn; a bucket that is being
        // written is read again.
        if (swap_o || (!any_free && &bad_q)) kicks_q <= kicks_q + KickW'(1);
        origin_valid_q <= swap_o;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Pick) bucket_q <= rest_i ^ hash;
    if (state_q == Sram) data_q <= half_q ? read_data_i[Slots*CodeW+:Slots*CodeW] :
                                            read_data_i[0+:Slots*CodeW];
    if (state_q == Correct) begin
      entries_q <= entries;
      bad_q <= bad;
    end
    killed_q <= state_q == Read ? '0 : kill;
  end
`ifndef SYNTHESIS
  error_in_kicked_bucket : cover property (@(posedge clk_i) commits && bad_q != '0);
  commit_blocks_kick : cover property (@(posedge clk_i) waits_o && |commit_i);
  kick_aborted : cover property (@(posedge clk_i) state_q != Idle && !place_valid_i);
  kicked_slot_written_since : cover property (@(posedge clk_i) commits && kill != '0);
`endif
endmodule
