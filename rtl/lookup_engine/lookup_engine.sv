// SPDX-License-Identifier: Apache-2.0
// The metadata lookup engine: 64-bit key in, 128-bit entry out, one operation a cycle. A bucketed
// cuckoo table in two halves of SRAM banks with SECDED; entries without a slot are in the stash.
// Latency: rsp_valid_o is high after edge 3 + SramLatency that follows the accepting edge.
// Everything commits in order in S4; nothing stalls once admitted, so S0 admits by credit.
// Valid/ready: valid does not wait for ready, payload is stable until taken. req_ready_o depends on
// req_op_i. A SCRUB is admitted slot by slot and taken with its last.
// Not handled: INSERT or UPDATE to state 0, reserved operations (answered as LOOKUP), keys that
// are not well mixed (inserts fail).
module lookup_engine #(
  parameter int unsigned BucketsLog2 = 16,  // of each half; 2 and more
  parameter int unsigned Slots = 4,  // of a bucket; a power of two, 2 and more
  parameter int unsigned Banks = 8,  // a power of two, 2 and more; half of them for each half
  parameter int unsigned Stash = 16,
  parameter int unsigned KickLimit = 32,
  parameter int unsigned SramLatency = 1,  // 1 to 3
  parameter int unsigned StoreBuffer = 16,  // of each half; 2 and more
  parameter int unsigned IdW = 8
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,

  input  logic                            req_valid_i,
  output logic                            req_ready_o,
  input  logic [2:0]                      req_op_i,
  input  logic [IdW-1:0]                  req_id_i,
  input  logic [lookup_pkg::KeyW-1:0]     req_key_i,
  input  logic [lookup_pkg::EntryW-1:0]   req_entry_i,
  input  logic [lookup_pkg::FieldsW-1:0]  req_mask_i,
  input  logic [lookup_pkg::VersionW-1:0] req_expect_version_i,
  input  logic                            req_expect_valid_i,

  output logic                            rsp_valid_o,
  input  logic                            rsp_ready_i,
  output logic [IdW-1:0]                  rsp_id_o,
  output logic [2:0]                      rsp_status_o,
  output logic                            rsp_corrected_o,
  output logic                            rsp_uncorrectable_o,
  output logic [lookup_pkg::EntryW-1:0]   rsp_entry_o,

  input  logic                            reg_valid_i,
  output logic                            reg_ready_o,
  input  logic                            reg_write_i,
  input  logic [4:0]                      reg_address_i,
  input  logic [31:0]                     reg_data_i,
  output logic                            reg_valid_o,
  input  logic                            reg_ready_i,
  output logic [31:0]                     reg_data_o,
  output logic                            reg_error_o,

  output logic [$clog2(Stash+1)-1:0]      stash_count_o,
  output logic                            idle_o
);
  localparam int unsigned KeyW = lookup_pkg::KeyW;
  localparam int unsigned EntryW = lookup_pkg::EntryW;
  localparam int unsigned TagW = lookup_pkg::TagW;
  localparam int unsigned CodeW = lookup_pkg::CodeW;
  localparam int unsigned SeedW = lookup_pkg::SeedW;
  localparam int unsigned TagUsed = KeyW - BucketsLog2;
  localparam int unsigned SlotW = $clog2(Slots);
  localparam int unsigned HalfBanks = Banks / 2;
  localparam int unsigned RowW = BucketsLog2 - $clog2(HalfBanks);
  localparam int unsigned LineW = Slots * CodeW;
  localparam int unsigned StashPlaceW = Stash == 1 ? 1 : $clog2(Stash);
  localparam int unsigned StashCountW = $clog2(Stash + 1);
  localparam int unsigned BufferCountW = $clog2(StoreBuffer + 1);
  localparam int unsigned KickW = $clog2(KickLimit + 2);
  localparam int unsigned FifoDepth = 8;
  localparam int unsigned FifoCountW = $clog2(FifoDepth + 1);
  localparam int unsigned WordsW = $clog2(4 * Slots + 1);
  localparam int unsigned BadW = $clog2(2 * Slots + 1);

  // Stages: 0 is S1, then S2 (SramLatency cycles), S3, S4.
  localparam int unsigned S3 = SramLatency + 1;
  localparam int unsigned S4 = SramLatency + 2;
  localparam int unsigned Stages = SramLatency + 3;
  localparam int unsigned CountW = 4;  // of what is in flight

  logic enable, inject, injected, swept_q, quiet;
  logic [2*SeedW-1:0] seeds;
  logic [31:0] scrub_period;
  logic [CodeW-1:0] inject_mask;

  // Reset sweep: a row of every bank a cycle.
  logic [RowW-1:0] sweep_row_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      swept_q <= 1'b0;
      sweep_row_q <= '0;
    end else if (!swept_q) begin
      sweep_row_q <= sweep_row_q + RowW'(1);
      swept_q <= &sweep_row_q;
    end
  end

  // ---- S0: admit by credit ----------------------------------------------------------------------
  logic [FifoCountW-1:0] fifo_count;
  logic [2*BufferCountW-1:0] buffer_used;
  logic [3:0] buffer_freed;
  logic [StashCountW-1:0] stash_count;
  logic stash_armed, kick_busy, steal;
  logic [CountW-1:0] in_flight, mutating, inserting;
  logic admit, mutates, inserts, respond, scrub_now, scrub_half, scrub_due;
  logic [SlotW-1:0] scrub_slot;
  logic [BucketsLog2-1:0] scrub_bucket;
  logic [1:0] buffer_room;
  admission #(
    .BucketsLog2(BucketsLog2),
    .Slots(Slots),
    .Stash(Stash),
    .StoreBuffer(StoreBuffer),
    .FifoDepth(FifoDepth)
  ) u_admission (
    .clk_i,
    .rst_ni,
    .enable_i(enable && swept_q),
    .steal_i(steal),
    .scrub_period_i(scrub_period),
    .req_valid_i,
    .req_op_i,
    .req_ready_o,
    .in_flight_i(in_flight),
    .mutating_i(mutating),
    .inserting_i(inserting),
    .fifo_count_i(fifo_count),
    .buffer_used_i(buffer_used),
    .buffer_freed_i(buffer_freed),
    .kick_busy_i(kick_busy),
    .stash_count_i(stash_count),
    .stash_armed_i(stash_armed),
    .admit_o(admit),
    .mutates_o(mutates),
    .inserts_o(inserts),
    .respond_o(respond),
    .scrub_o(scrub_now),
    .scrub_half_o(scrub_half),
    .scrub_bucket_o(scrub_bucket),
    .scrub_slot_o(scrub_slot),
    .scrub_due_o(scrub_due),
    .buffer_room_o(buffer_room)
  );

  // ---- S1 to S4: what a request takes along -----------------------------------------------------
  logic [Stages-1:0] valid, inserts_in;
  logic [KeyW-1:0] s1_key, s4_key;
  logic s1_scrub, s1_scrub_half, s4_scrub_half, s4_respond, s4_expect;
  logic [BucketsLog2-1:0] s1_scrub_bucket;
  logic [2*BucketsLog2-1:0] s1_bucket, s3_bucket, s4_bucket;
  logic [1:0] s1_read;
  logic [2:0] s4_op;
  logic [IdW-1:0] s4_id;
  logic [EntryW-1:0] s4_new;
  logic [lookup_pkg::FieldsW-1:0] s4_mask;
  logic [lookup_pkg::VersionW-1:0] s4_version;
  logic [SlotW-1:0] s4_scrub_slot;
  request_pipe #(
    .BucketsLog2(BucketsLog2),
    .SlotW(SlotW),
    .Stages(Stages),
    .IdW(IdW)
  ) u_pipe (
    .clk_i,
    .rst_ni,
    .admit_i(admit),
    .mutates_i(mutates),
    .inserts_i(inserts),
    .id_i(req_id_i),
    .op_i(scrub_now ? 3'(lookup_pkg::OpScrub) : req_op_i),
    .key_i(req_key_i),
    .entry_i(req_entry_i),
    .mask_i(req_mask_i),
    .version_i(req_expect_version_i),
    .expect_i(req_expect_valid_i),
    .respond_i(respond),
    .scrub_half_i(scrub_half),
    .scrub_bucket_i(scrub_bucket),
    .scrub_slot_i(scrub_slot),
    .valid_o(valid),
    .inserts_o(inserts_in),
    .in_flight_o(in_flight),
    .mutating_o(mutating),
    .inserting_o(inserting),
    .s1_key_o(s1_key),
    .s1_scrub_o(s1_scrub),
    .s1_scrub_half_o(s1_scrub_half),
    .s1_scrub_bucket_o(s1_scrub_bucket),
    .s1_bucket_i(s1_bucket),
    .s3_bucket_o(s3_bucket),
    .s4_bucket_o(s4_bucket),
    .s4_id_o(s4_id),
    .s4_op_o(s4_op),
    .s4_key_o(s4_key),
    .s4_entry_o(s4_new),
    .s4_mask_o(s4_mask),
    .s4_version_o(s4_version),
    .s4_expect_o(s4_expect),
    .s4_respond_o(s4_respond),
    .s4_scrub_half_o(s4_scrub_half),
    .s4_scrub_slot_o(s4_scrub_slot)
  );

  // ---- The halves: banks, store buffer, error correction ----------------------------------------
  logic [1:0] commit_write, kick_push, kick_read, kick_read_ready, kick_take;
  logic [1:0] drain, drain_ready, skip;
  logic [SlotW-1:0] commit_slot, kick_push_slot;
  logic [EntryW-1:0] commit_entry, kick_entry;
  logic [BucketsLog2-1:0] kick_bucket;
  logic [2*LineW-1:0] kick_data;
  logic [2*Slots-1:0] kick_kill;
  logic [2*Slots*EntryW-1:0] s4_slots;
  logic [2*Slots-1:0] s4_bad, s4_corrected_0, s4_corrected_1, s4_kill, s4_free;
  logic [1:0] s4_hit, buffer_busy;
  logic [2*SlotW-1:0] s4_hit_slot;
  logic [2*EntryW-1:0] s4_hit_entry;
  logic [TagW-1:0] s4_tag;
  logic [1:0] inject_here;

  assign inject_here = {inject && !(drain[0] && drain_ready[0]), inject};
  assign injected = inject && |(drain & drain_ready);

  for (genvar h = 0; h < 2; h++) begin : gen_half
    assign s1_read[h] = valid[0] && (!s1_scrub || s1_scrub_half == 1'(h));
    lookup_half #(
      .BucketsLog2(BucketsLog2),
      .Slots(Slots),
      .Banks(HalfBanks),
      .SramLatency(SramLatency),
      .StoreBuffer(StoreBuffer)
    ) u_half (
      .clk_i,
      .rst_ni,
      .sweep_i(!swept_q),
      .sweep_row_i(sweep_row_q),
      .seed_i(seeds[h*SeedW+:SeedW]),
      .read_i(s1_read[h]),
      .key_i(s1_key),
      .scrub_i(s1_scrub),
      .scrub_bucket_i(s1_scrub_bucket),
      .bucket_o(s1_bucket[h*BucketsLog2+:BucketsLog2]),
      .s2_valid_i(valid[S3-1]),
      .s3_valid_i(valid[S3]),
      .s3_bucket_i(s3_bucket[h*BucketsLog2+:BucketsLog2]),
      .s4_valid_i(valid[S4]),
      .s4_tag_i(s4_tag),
      .slots_o(s4_slots[h*Slots*EntryW+:Slots*EntryW]),
      .bad_o(s4_bad[h*Slots+:Slots]),
      .corrected_0_o(s4_corrected_0[h*Slots+:Slots]),
      .corrected_1_o(s4_corrected_1[h*Slots+:Slots]),
      .kill_o(s4_kill[h*Slots+:Slots]),
      .free_o(s4_free[h*Slots+:Slots]),
      .hit_o(s4_hit[h]),
      .hit_slot_o(s4_hit_slot[h*SlotW+:SlotW]),
      .hit_entry_o(s4_hit_entry[h*EntryW+:EntryW]),
      .push_i(commit_write[h] || kick_push[h]),
      .push_bucket_i(commit_write[h] ? s4_bucket[h*BucketsLog2+:BucketsLog2] : kick_bucket),
      .push_slot_i(commit_write[h] ? commit_slot : kick_push_slot),
      .push_entry_i(commit_write[h] ? commit_entry : kick_entry),
      .used_o(buffer_used[h*BufferCountW+:BufferCountW]),
      .freed_o(buffer_freed[2*h+:2]),
      .busy_o(buffer_busy[h]),
      .drain_o(drain[h]),
      .drain_ready_o(drain_ready[h]),
      .skip_o(skip[h]),
      .flip_i(inject_here[h] ? inject_mask : '0),
      .kick_i(kick_busy),
      .kick_read_i(kick_read[h]),
      .kick_ready_o(kick_read_ready[h]),
      .kick_take_i(kick_take[h]),
      .kick_bucket_i(kick_bucket),
      .kick_data_o(kick_data[h*LineW+:LineW]),
      .kick_kill_o(kick_kill[h*Slots+:Slots])
    );
  end

  // ---- S4: commit -------------------------------------------------------------------------------
  logic [2:0] s4_status;
  logic s4_corrected, s4_uncorrectable, scrub_corrected_q, scrub_uncorrectable_q;
  logic [EntryW-1:0] s4_entry;
  logic [WordsW-1:0] corrected_words;
  logic [BadW-1:0] bad_slots;
  logic stash_hit, stash_full, stash_alloc, stash_update, stash_remove, stash_rearm;
  logic [EntryW-1:0] stash_entry;
  assign s4_tag = TagW'(s4_key[KeyW-1:BucketsLog2]);

  commit_stage #(
    .Slots(Slots)
  ) u_commit (
    .valid_i(valid[S4]),
    .op_i(s4_op),
    .tag_i(s4_tag),
    .entry_i(s4_new),
    .mask_i(s4_mask),
    .expect_version_i(s4_version),
    .expect_valid_i(s4_expect),
    .scrub_half_i(s4_scrub_half),
    .scrub_slot_i(s4_scrub_slot),
    .slots_i(s4_slots),
    .bad_i(s4_bad),
    .corrected_0_i(s4_corrected_0),
    .corrected_1_i(s4_corrected_1),
    .kill_i(s4_kill),
    .buffer_free_i(s4_free),
    .buffer_hit_i(s4_hit),
    .buffer_slot_i(s4_hit_slot),
    .buffer_entry_i(s4_hit_entry),
    .stash_hit_i(stash_hit),
    .stash_entry_i(stash_entry),
    .stash_full_i(stash_full),
    .status_o(s4_status),
    .entry_o(s4_entry),
    .corrected_o(s4_corrected),
    .uncorrectable_o(s4_uncorrectable),
    .corrected_words_o(corrected_words),
    .bad_slots_o(bad_slots),
    .write_o(commit_write),
    .write_slot_o(commit_slot),
    .write_entry_o(commit_entry),
    .stash_alloc_o(stash_alloc),
    .stash_update_o(stash_update),
    .stash_remove_o(stash_remove),
    .stash_rearm_o(stash_rearm)
  );

  // A scrub answers for the whole row.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scrub_corrected_q <= 1'b0;
      scrub_uncorrectable_q <= 1'b0;
    end else if (valid[S4] && s4_op == lookup_pkg::OpScrub) begin
      scrub_corrected_q <= s4_scrub_slot != SlotW'(Slots - 1) &&
                           (scrub_corrected_q || s4_corrected);
      scrub_uncorrectable_q <= s4_scrub_slot != SlotW'(Slots - 1) &&
                               (scrub_uncorrectable_q || s4_uncorrectable);
    end
  end

  response_fifo #(
    .Width(IdW + 3 + 2 + EntryW),
    .Depth(FifoDepth)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .push_i(s4_respond),
    .data_i({s4_id, s4_status, s4_corrected || scrub_corrected_q && s4_op == lookup_pkg::OpScrub,
             s4_uncorrectable || scrub_uncorrectable_q && s4_op == lookup_pkg::OpScrub, s4_entry}),
    .valid_o(rsp_valid_o),
    .ready_i(rsp_ready_i),
    .data_o({rsp_id_o, rsp_status_o, rsp_corrected_o, rsp_uncorrectable_o, rsp_entry_o}),
    .count_o(fifo_count)
  );

  // ---- Stash and kicks --------------------------------------------------------------------------
  logic [StashPlaceW-1:0] pick, kick_place;
  logic kick_valid, kick_placed, kick_swap, kick_park, kick_waits, kicked;
  logic [BucketsLog2-1:0] kick_rest, swap_rest;
  logic [EntryW-1:0] swap_entry;
  logic [KickW-1:0] kicks;

  stash #(
    .BucketsLog2(BucketsLog2),
    .Places(Stash)
  ) u_stash (
    .clk_i,
    .rst_ni,
    .en_i(valid[S4]),
    .tag_i(s4_tag),
    .rest_i(s4_key[BucketsLog2-1:0]),
    .hit_o(stash_hit),
    .hit_entry_o(stash_entry),
    .full_o(stash_full),
    .count_o(stash_count),
    .armed_o(stash_armed),
    .alloc_i(stash_alloc),
    .update_i(stash_update),
    .remove_i(stash_remove),
    .entry_i(commit_entry),
    .rearm_i(stash_rearm),
    .pick_o(pick),
    .kick_place_i(kick_place),
    .kick_valid_o(kick_valid),
    .kick_rest_o(kick_rest),
    .kick_entry_o(kick_entry),
    .kick_place_done_i(kick_placed),
    .kick_swap_i(kick_swap),
    .kick_park_i(kick_park),
    .kick_swap_rest_i(swap_rest),
    .kick_swap_entry_i(swap_entry)
  );

  kick_engine #(
    .BucketsLog2(BucketsLog2),
    .Slots(Slots),
    .StashPlaces(Stash),
    .KickLimit(KickLimit),
    .SramLatency(SramLatency)
  ) u_kick (
    .clk_i,
    .rst_ni,
    .seeds_i(seeds),
    .armed_i(stash_armed),
    .pick_i(pick),
    .place_o(kick_place),
    .place_valid_i(kick_valid),
    .rest_i(kick_rest),
    .tag_i(kick_entry[TagUsed-1:0]),
    .placed_o(kick_placed),
    .swap_o(kick_swap),
    .park_o(kick_park),
    .swap_rest_o(swap_rest),
    .swap_entry_o(swap_entry),
    .read_o(kick_read),
    .bucket_o(kick_bucket),
    .read_ready_i(kick_read_ready),
    .take_o(kick_take),
    .read_data_i(kick_data),
    .kill_i(kick_kill),
    .room_i(buffer_room),
    .commit_i(commit_write),
    .commit_stash_i(stash_alloc || stash_update || stash_remove || stash_rearm),
    .push_o(kick_push),
    .push_slot_o(kick_push_slot),
    .busy_o(kick_busy),
    .waits_o(kick_waits),
    .kicked_o(kicked),
    .kicks_o(kicks)
  );

  // ---- Starvation: who has waited for long gets the next request's slot -------------------------
  logic [2:0] waits;
  assign waits = {kick_waits, drain & ~drain_ready};
  starvation u_starvation (
    .clk_i,
    .rst_ni,
    .waits_i(waits),
    .anew_i({1'b0, skip}),
    .steal_o(steal)
  );

  // ---- Registers, idle --------------------------------------------------------------------------
  assign quiet = in_flight == '0;
  lookup_regs #(
    .WordsW(WordsW),
    .BadW(BadW),
    .KickW(KickW),
    .StashW(StashCountW)
  ) u_regs (
    .clk_i,
    .rst_ni,
    .valid_i(reg_valid_i),
    .ready_o(reg_ready_o),
    .write_i(reg_write_i),
    .address_i(reg_address_i),
    .data_i(reg_data_i),
    .valid_o(reg_valid_o),
    .ready_i(reg_ready_i),
    .data_o(reg_data_o),
    .error_o(reg_error_o),
    .enable_o(enable),
    .seeds_o(seeds),
    .scrub_o(scrub_period),
    .inject_o(inject),
    .inject_mask_o(inject_mask),
    .injected_i(injected),
    .swept_i(swept_q),
    .quiet_i(quiet),
    .lookup_i(s4_respond && s4_op == lookup_pkg::OpLookup),
    .hit_i(s4_respond && s4_op == lookup_pkg::OpLookup && s4_status == lookup_pkg::StHit),
    .insert_i(s4_respond && s4_op == lookup_pkg::OpInsert && s4_status == lookup_pkg::StDone),
    .remove_i(s4_respond && s4_status == lookup_pkg::StDone &&
              (s4_op == lookup_pkg::OpDelete || s4_op == lookup_pkg::OpEvict)),
    .kick_i(kicked),
    .kicks_i(kicks),
    .stash_i(stash_count),
    .corrected_i(corrected_words),
    .uncorrectable_i(bad_slots),
    .conflicts_i(2'(waits[0]) + 2'(waits[1]) + 2'(|(kick_read & ~kick_read_ready))),
    .stall_i(req_valid_i && !admit),
    .stolen_i(steal)
  );

  assign stash_count_o = stash_count;
  assign idle_o = !req_valid_i && !rsp_valid_o && quiet && buffer_busy == '0 && !stash_armed &&
                  !kick_busy && !scrub_due && !reg_valid_i && !reg_valid_o && swept_q;

  // ---- Checks -----------------------------------------------------------------------------------
  if (BucketsLog2 < 2 || BucketsLog2 > 32 || Slots < 2 || (1 << SlotW) != Slots || Banks < 2 ||
      (1 << $clog2(Banks)) != Banks || RowW < 1 || Stash < 1 || SramLatency < 1 ||
      SramLatency > 3 || StoreBuffer < 2 || IdW < 1) begin : gen_check_shape
    $fatal(1, "lookup_engine: a parameter outside its range");
  end

`ifndef SYNTHESIS
  engine_watch #(
    .SlotsBoth(2 * Slots),
    .Stages(Stages),
    .IdW(IdW),
    .BadW(BadW)
  ) u_watch (.*);
`endif
endmodule
