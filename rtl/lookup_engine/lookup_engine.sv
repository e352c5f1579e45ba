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
  localparam int unsigned PatienceW = $clog2(lookup_pkg::Patience);

  // Stages: 0 is S1, then S2 (SramLatency cycles), S3, S4.
  localparam int unsigned S3 = SramLatency + 1;
  localparam int unsigned S4 = SramLatency + 2;
  localparam int unsigned Stages = SramLatency + 3;
  localparam int unsigned CountW = 4;  // of what is in flight

  // What a request takes along.
  localparam int unsigned PayW = IdW + 3 + KeyW + EntryW + lookup_pkg::FieldsW +
                                 lookup_pkg::VersionW + 1 + 1 + 1 + SlotW;

  logic [Stages-1:0] valid_q;
  logic [Stages-1:0] mutates_q, inserts_q;
  logic [PayW-1:0] pay_q[Stages];
  logic [PayW-1:0] pay_0;

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

  // ---- S0: admit by credit -------------------------------------------------------------------
  logic [FifoCountW-1:0] fifo_count;
  logic [2*BufferCountW-1:0] buffer_used;
  logic [3:0] buffer_freed;
  logic [StashCountW-1:0] stash_count;
  logic stash_armed, kick_busy, steal;
  logic [CountW-1:0] in_flight, mutating, inserting;
  always_comb begin
    in_flight = '0;
    mutating = '0;
    inserting = '0;
    for (int unsigned i = 0; i < Stages; i++) begin
      in_flight = in_flight + CountW'(valid_q[i]);
      mutating = mutating + CountW'(mutates_q[i]);
      inserting = inserting + CountW'(inserts_q[i]);
    end
  end

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

  assign pay_0 = {req_id_i, scrub_now ? 3'(lookup_pkg::OpScrub) : req_op_i, req_key_i, req_entry_i,
                  req_mask_i, req_expect_version_i, req_expect_valid_i,
                  respond, scrub_half, scrub_slot};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      mutates_q <= '0;
      inserts_q <= '0;
    end else begin
      valid_q <= {valid_q[Stages-2:0], admit};
      mutates_q <= {mutates_q[Stages-2:0], mutates};
      inserts_q <= {inserts_q[Stages-2:0], inserts};
    end
  end
  logic [BucketsLog2-1:0] scrub_bucket_q;
  always_ff @(posedge clk_i) begin
    if (admit) begin
      pay_q[0] <= pay_0;
      scrub_bucket_q <= scrub_bucket;
    end
    for (int unsigned i = 1; i < Stages; i++) begin
      if (valid_q[i-1]) pay_q[i] <= pay_q[i-1];
    end
  end

  // ---- S1: hash, address -----------------------------------------------------------------------
  localparam int unsigned ScrubHalfAt = SlotW;
  localparam int unsigned RespondAt = SlotW + 1;
  localparam int unsigned ExpectAt = SlotW + 2;
  localparam int unsigned VersionAt = ExpectAt + 1;
  localparam int unsigned MaskAt = VersionAt + lookup_pkg::VersionW;
  localparam int unsigned EntryAt = MaskAt + lookup_pkg::FieldsW;
  localparam int unsigned KeyAt = EntryAt + EntryW;
  localparam int unsigned OpAt = KeyAt + KeyW;
  localparam int unsigned IdAt = OpAt + 3;

  logic [KeyW-1:0] s1_key;
  logic s1_scrub, s1_scrub_half;
  logic [2*BucketsLog2-1:0] s1_bucket;
  logic [1:0] s1_read;
  assign s1_key = pay_q[0][KeyAt+:KeyW];
  assign s1_scrub = pay_q[0][OpAt+:3] == lookup_pkg::OpScrub;
  assign s1_scrub_half = pay_q[0][ScrubHalfAt];

  // Buckets go along from S2 on.
  logic [2*BucketsLog2-1:0] bucket_q[Stages-1];
  logic [2*BucketsLog2-1:0] s3_bucket, s4_bucket;
  always_ff @(posedge clk_i) begin
    if (valid_q[0]) bucket_q[0] <= s1_bucket;
    for (int unsigned i = 1; i < Stages - 1; i++) begin
      if (valid_q[i]) bucket_q[i] <= bucket_q[i-1];
    end
  end
  assign s3_bucket = bucket_q[S3-1];
  assign s4_bucket = bucket_q[S4-1];

  // ---- The halves: banks, store buffer, error correction -----------------------------------------
  logic [1:0] commit_write, kick_push, kick_read, kick_read_ready, kick_take, drain, drain_ready, skip;
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
  logic [KeyW-1:0] s4_key;
  logic [TagW-1:0] s4_tag;
  logic [1:0] inject_here;

  assign inject_here = {inject && !(drain[0] && drain_ready[0]), inject};
  assign injected = inject && |(drain & drain_ready);

  for (genvar h = 0; h < 2; h++) begin : gen_half
    assign s1_read[h] = valid_q[0] && (!s1_scrub || s1_scrub_half == 1'(h));
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
      .scrub_bucket_i(scrub_bucket_q),
      .bucket_o(s1_bucket[h*BucketsLog2+:BucketsLog2]),
      .s2_valid_i(valid_q[S3-1]),
      .s3_valid_i(valid_q[S3]),
      .s3_bucket_i(s3_bucket[h*BucketsLog2+:BucketsLog2]),
      .s4_valid_i(valid_q[S4]),
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

  // ---- S4: commit --------------------------------------------------------------------------------
  logic [2:0] s4_op, s4_status;
  logic [IdW-1:0] s4_id;
  logic s4_respond, s4_corrected, s4_uncorrectable, scrub_corrected_q, scrub_uncorrectable_q;
  logic [EntryW-1:0] s4_entry;
  logic [WordsW-1:0] corrected_words;
  logic [BadW-1:0] bad_slots;
  logic stash_hit, stash_full, stash_alloc, stash_update, stash_remove, stash_rearm;
  logic [EntryW-1:0] stash_entry;
  assign s4_key = pay_q[S4][KeyAt+:KeyW];
  assign s4_tag = TagW'(s4_key[KeyW-1:BucketsLog2]);
  assign s4_op = pay_q[S4][OpAt+:3];
  assign s4_id = pay_q[S4][IdAt+:IdW];
  assign s4_respond = valid_q[S4] && pay_q[S4][RespondAt];

  commit_stage #(
    .Slots(Slots)
  ) u_commit (
    .valid_i(valid_q[S4]),
    .op_i(s4_op),
    .tag_i(s4_tag),
    .entry_i(pay_q[S4][EntryAt+:EntryW]),
    .mask_i(pay_q[S4][MaskAt+:lookup_pkg::FieldsW]),
    .expect_version_i(pay_q[S4][VersionAt+:lookup_pkg::VersionW]),
    .expect_valid_i(pay_q[S4][ExpectAt]),
    .scrub_half_i(pay_q[S4][ScrubHalfAt]),
    .scrub_slot_i(pay_q[S4][SlotW-1:0]),
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
    end else if (valid_q[S4] && s4_op == lookup_pkg::OpScrub) begin
      scrub_corrected_q <= pay_q[S4][SlotW-1:0] != SlotW'(Slots - 1) &&
                           (scrub_corrected_q || s4_corrected);
      scrub_uncorrectable_q <= pay_q[S4][SlotW-1:0] != SlotW'(Slots - 1) &&
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

  // ---- Stash and kicks ---------------------------------------------------------------------------
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
    .en_i(valid_q[S4]),
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

  // ---- Starvation: who has waited for long gets the next request's slot --------------------------
  logic [2:0] waits, anew, starved;
  logic [3*PatienceW-1:0] waited_q;
  assign waits = {kick_waits, drain & ~drain_ready};
  assign anew = {1'b0, skip};
  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      starved[i] = waits[i] && waited_q[i*PatienceW+:PatienceW] == PatienceW'(lookup_pkg::Patience - 1);
    end
  end
  assign steal = |starved;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waited_q <= '0;
    end else begin
      for (int unsigned i = 0; i < 3; i++) begin
        waited_q[i*PatienceW+:PatienceW] <=
            waits[i] && !anew[i] ? waited_q[i*PatienceW+:PatienceW] + PatienceW'(1) : '0;
      end
    end
  end

  // ---- Registers, idle ---------------------------------------------------------------------------
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

  // ---- Checks --------------------------------------------------------------------------------------
  if (BucketsLog2 < 2 || BucketsLog2 > 32 || Slots < 2 || (1 << SlotW) != Slots || Banks < 2 ||
      (1 << $clog2(Banks)) != Banks || RowW < 1 || Stash < 1 || SramLatency < 1 ||
      SramLatency > 3 || StoreBuffer < 2 || IdW < 1) begin : gen_check_shape
    $fatal(1, "lookup_engine: a parameter outside its range");
  end
  if (TagW + 2 != lookup_pkg::FrameLsb || lookup_pkg::FrameLsb + 32 != lookup_pkg::SizeLsb ||
      lookup_pkg::SizeLsb + 8 != lookup_pkg::VersionLsb ||
      lookup_pkg::VersionLsb + lookup_pkg::VersionW != lookup_pkg::StateLsb ||
      lookup_pkg::StateLsb + lookup_pkg::StateW != lookup_pkg::DecoderLsb ||
      lookup_pkg::DecoderLsb + 3 != lookup_pkg::ClassLsb ||
      lookup_pkg::ClassLsb + 3 != lookup_pkg::FlagsLsb ||
      lookup_pkg::FlagsLsb + 3 != lookup_pkg::SpareLsb || lookup_pkg::SpareLsb + 4 != EntryW ||
      CodeW != EntryW + 2 * lookup_pkg::CheckW) begin : gen_check_entry
    $fatal(1, "lookup_engine: the fields do not make an entry");
  end

`ifndef SYNTHESIS
  logic stalled_q;
  logic [IdW+3+KeyW+EntryW-1:0] request_q;
  always_ff @(posedge clk_i) begin
    stalled_q <= rst_ni && req_valid_i && !req_ready_o;
    request_q <= {req_id_i, req_op_i, req_key_i, req_entry_i};
    if (rst_ni) begin
      assert (!stalled_q || (req_valid_i && request_q == {req_id_i, req_op_i, req_key_i, req_entry_i}))
      else $error("a request changed before it was taken");
      assert (!(req_valid_i && (req_op_i == lookup_pkg::OpInsert || req_op_i == lookup_pkg::OpUpdate && req_mask_i[0]) &&
                req_entry_i[lookup_pkg::StateLsb+:lookup_pkg::StateW] == '0))
      else $error("an entry made free by INSERT or UPDATE");
      assert (!(|(commit_write & kick_push)))
      else $error("two writes of one half in a cycle");
    end
  end

  // What must have happened in a set of tests: a point per hazard.
  key_in_flight : cover property (@(posedge clk_i) kick_swap && valid_q[S4]);
  read_write_gap : cover property (@(posedge clk_i) valid_q[S4] && |(s4_kill));
  two_inserts_in_flight : cover property (@(posedge clk_i) inserts_q[S4] && inserts_q[S4-1]);
  update_during_kick : cover property (@(posedge clk_i) valid_q[S4] && kick_busy && stash_update);
  delete_during_kick : cover property (@(posedge clk_i) valid_q[S4] && kick_busy && stash_remove &&
                                       s4_op == lookup_pkg::OpDelete);
  evict_during_kick : cover property (@(posedge clk_i) valid_q[S4] && kick_busy && stash_remove &&
                                      s4_op == lookup_pkg::OpEvict);
  stash_hit_while_kicking : cover property (@(posedge clk_i) valid_q[S4] && stash_hit && kick_busy);
  stash_full_answer : cover property (@(posedge clk_i) valid_q[S4] && s4_status == lookup_pkg::StFull);
  forwarded : cover property (@(posedge clk_i) valid_q[S4] && |s4_hit);
  commit_blocks_kick : cover property (@(posedge clk_i) kick_waits && |commit_write);
  error_in_request : cover property (@(posedge clk_i) valid_q[S4] && bad_slots != '0);
  response_back_pressure : cover property (@(posedge clk_i) req_valid_i && 32'(fifo_count) == FifoDepth);
  hot_bank : cover property (@(posedge clk_i) steal);
`endif
endmodule
