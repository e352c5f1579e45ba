// SPDX-License-Identifier: Apache-2.0
// S4, the single serialisation point: forwards, compares 2 x Slots tags (the stash has compared
// its own), selects, compares the move version, merges, and decides what is written. At most one
// of the two halves and the stash is. Combinational.
// Not handled: an INSERT or UPDATE whose entry would be free (state 0).
module commit_stage #(
  parameter int unsigned Slots = 4,
  localparam int unsigned SlotW = $clog2(Slots),
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned TagW = lookup_pkg::TagW
) (
  input  logic                            valid_i,
  input  logic [2:0]                      op_i,
  input  logic [TagW-1:0]                 tag_i,
  input  logic [EntryW-1:0]               entry_i,
  input  logic [lookup_pkg::FieldsW-1:0]  mask_i,
  input  logic [lookup_pkg::VersionW-1:0] expect_version_i,
  input  logic                            expect_valid_i,
  input  logic                            scrub_half_i,
  input  logic [SlotW-1:0]                scrub_slot_i,

  // Slots as read and corrected, both halves: what is wrong with them, what overrides them.
  input  logic [2*Slots*EntryW-1:0]       slots_i,
  input  logic [2*Slots-1:0]              bad_i,
  input  logic [2*Slots-1:0]              corrected_0_i,  // word 0
  input  logic [2*Slots-1:0]              corrected_1_i,  // word 1
  input  logic [2*Slots-1:0]              kill_i,
  input  logic [2*Slots-1:0]              buffer_free_i,
  input  logic [1:0]                      buffer_hit_i,
  input  logic [2*SlotW-1:0]              buffer_slot_i,
  input  logic [2*EntryW-1:0]             buffer_entry_i,
  input  logic                            stash_hit_i,
  input  logic [EntryW-1:0]               stash_entry_i,
  input  logic                            stash_full_i,

  output logic [2:0]                      status_o,
  output logic [EntryW-1:0]               entry_o,
  output logic                            corrected_o,
  output logic                            uncorrectable_o,
  output logic [$clog2(4*Slots+1)-1:0]    corrected_words_o,
  output logic [$clog2(2*Slots+1)-1:0]    bad_slots_o,

  output logic [1:0]                      write_o,  // a slot of a half
  output logic [SlotW-1:0]                write_slot_o,
  output logic [EntryW-1:0]               write_entry_o,
  output logic                            stash_alloc_o,
  output logic                            stash_update_o,
  output logic                            stash_remove_o,
  output logic                            stash_rearm_o
);
  localparam int unsigned StateLsb = lookup_pkg::StateLsb;
  localparam int unsigned StateW = lookup_pkg::StateW;
  localparam int unsigned FreeW = $clog2(Slots + 1);
  localparam int unsigned WordsW = $clog2(4 * Slots + 1);
  localparam int unsigned BadW = $clog2(2 * Slots + 1);

  // Where the key is, and where there is room.
  logic [2*Slots-1:0] hit, free, bad, seen;
  logic [EntryW-1:0] current;
  logic [1:0] half_hit;
  logic [2*SlotW-1:0] hit_slot, free_slot;
  logic [2*FreeW-1:0] free_count;
  logic found;
  always_comb begin
    current = stash_hit_i ? stash_entry_i : '0;
    half_hit = buffer_hit_i;
    hit_slot = '0;
    free_slot = '0;
    free_count = '0;
    hit = '0;
    free = '0;
    if (valid_i) for (int unsigned h = 0; h < 2; h++) begin
      if (buffer_hit_i[h]) begin
        current = current | buffer_entry_i[h*EntryW+:EntryW];
        hit_slot[h*SlotW+:SlotW] = buffer_slot_i[h*SlotW+:SlotW];
      end
      for (int unsigned i = 0; i < Slots; i++) begin
        hit[h*Slots+i] = !kill_i[h*Slots+i] && !bad_i[h*Slots+i] &&
                         slots_i[(h*Slots+i)*EntryW+StateLsb+:StateW] != '0 &&
                         slots_i[(h*Slots+i)*EntryW+:TagW] == tag_i;
        free[h*Slots+i] = kill_i[h*Slots+i] ? buffer_free_i[h*Slots+i] :
                          !bad_i[h*Slots+i] &&
                          slots_i[(h*Slots+i)*EntryW+StateLsb+:StateW] == '0;
        if (hit[h*Slots+i]) begin
          current = current | slots_i[(h*Slots+i)*EntryW+:EntryW];
          half_hit[h] = 1'b1;
          hit_slot[h*SlotW+:SlotW] = SlotW'(i);
        end
        free_count[h*FreeW+:FreeW] = free_count[h*FreeW+:FreeW] + FreeW'(free[h*Slots+i]);
      end
      for (int unsigned i = Slots; i > 0; i--) begin
        if (free[h*Slots+i-1]) free_slot[h*SlotW+:SlotW] = SlotW'(i - 1);
      end
    end
  end
  assign found = stash_hit_i || |half_hit;

  // What the error correction saw: of a request all slots that nothing overrides, of a scrub the
  // one that it is about.
  always_comb begin
    corrected_words_o = '0;
    bad_slots_o = '0;
    seen = '0;
    bad = '0;
    if (valid_i) for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned i = 0; i < Slots; i++) begin
        seen[h*Slots+i] = !kill_i[h*Slots+i] &&
                          (op_i != lookup_pkg::OpScrub ||
                           (scrub_half_i == 1'(h) && scrub_slot_i == SlotW'(i)));
        bad[h*Slots+i] = seen[h*Slots+i] && bad_i[h*Slots+i];
        corrected_words_o = corrected_words_o +
                            WordsW'(seen[h*Slots+i] && corrected_0_i[h*Slots+i]) +
                            WordsW'(seen[h*Slots+i] && corrected_1_i[h*Slots+i]);
        bad_slots_o = bad_slots_o + BadW'(bad[h*Slots+i]);
      end
    end
  end
  assign corrected_o = corrected_words_o != '0;
  assign uncorrectable_o = |bad;

  // The new entry of an UPDATE.
  lookup_pkg::entry_t old_entry, new_entry, merged;
  assign old_entry = current;
  assign new_entry = entry_i;
  always_comb begin
    merged = old_entry;
    if (mask_i[0]) merged.state = new_entry.state;
    if (mask_i[1]) merged.frame = new_entry.frame;
    if (mask_i[2]) merged.size = new_entry.size;
    if (mask_i[3]) merged.decoder = new_entry.decoder;
    if (mask_i[4]) merged.tier = new_entry.tier;
    if (mask_i[5]) merged.version = new_entry.version;
    if (mask_i[6]) merged.cls = new_entry.cls;
    if (mask_i[7]) merged.flags = new_entry.flags;
    if (mask_i[8]) merged.spare = new_entry.spare;
  end

  logic mismatch, second_half;
  assign mismatch = expect_valid_i && old_entry.version != expect_version_i;
  assign second_half = free_count[FreeW+:FreeW] > free_count[0+:FreeW];

  always_comb begin
    status_o = found ? lookup_pkg::StHit : lookup_pkg::StMiss;
    entry_o = current;
    write_o = 2'b00;
    write_slot_o = '0;
    write_entry_o = '0;
    stash_alloc_o = 1'b0;
    stash_update_o = 1'b0;
    stash_remove_o = 1'b0;
    stash_rearm_o = 1'b0;
    case (op_i)
      lookup_pkg::OpInsert: begin
        if (found) begin
          status_o = lookup_pkg::StExists;
        end else if (uncorrectable_o) begin
          status_o = lookup_pkg::StUncorrectable;
        end else if (|free) begin
          status_o = lookup_pkg::StDone;
          write_o = {valid_i && second_half, valid_i && !second_half};
        end else if (!stash_full_i) begin
          status_o = lookup_pkg::StDone;
          stash_alloc_o = valid_i;
        end else begin
          status_o = lookup_pkg::StFull;
        end
        write_slot_o = second_half ? free_slot[SlotW+:SlotW] : free_slot[0+:SlotW];
        write_entry_o = {entry_i[EntryW-1:TagW], tag_i};
        if (status_o == lookup_pkg::StDone) entry_o = write_entry_o;
      end
      lookup_pkg::OpUpdate, lookup_pkg::OpDelete, lookup_pkg::OpEvict: begin
        if (found && mismatch && op_i != lookup_pkg::OpEvict) begin
          status_o = lookup_pkg::StVersionMismatch;
        end else if (found) begin
          status_o = lookup_pkg::StDone;
          write_o = half_hit & {2{valid_i}};
          stash_update_o = valid_i && stash_hit_i && op_i == lookup_pkg::OpUpdate;
          stash_remove_o = valid_i && stash_hit_i && op_i != lookup_pkg::OpUpdate;
          stash_rearm_o = valid_i && !stash_hit_i && op_i == lookup_pkg::OpDelete;
        end
        write_slot_o = half_hit[1] ? hit_slot[SlotW+:SlotW] : hit_slot[0+:SlotW];
        if (op_i == lookup_pkg::OpUpdate) begin
          write_entry_o = merged;
          if (status_o == lookup_pkg::StDone) entry_o = merged;
        end
      end
      lookup_pkg::OpScrub: begin
        status_o = lookup_pkg::StDone;
        entry_o = '0;
        write_o = {scrub_half_i, !scrub_half_i} & {2{corrected_o && !uncorrectable_o}};
        write_slot_o = scrub_slot_i;
        write_entry_o = scrubbed;
      end
      default: ;
    endcase
    if (status_o == lookup_pkg::StMiss && uncorrectable_o) begin
      status_o = lookup_pkg::StUncorrectable;
    end
  end

  logic [EntryW-1:0] scrubbed;
  always_comb begin
    scrubbed = '0;
    if (op_i == lookup_pkg::OpScrub) for (int unsigned i = 0; i < Slots; i++) begin
      if (scrub_slot_i == SlotW'(i)) begin
        scrubbed = scrub_half_i ? slots_i[(Slots+i)*EntryW+:EntryW] : slots_i[i*EntryW+:EntryW];
      end
    end
  end

  if (TagW != lookup_pkg::TierLsb ||
      lookup_pkg::TierLsb + lookup_pkg::TierW != lookup_pkg::FrameLsb ||
      lookup_pkg::FrameLsb + lookup_pkg::FrameW != lookup_pkg::SizeLsb ||
      lookup_pkg::SizeLsb + lookup_pkg::SizeW != lookup_pkg::VersionLsb ||
      lookup_pkg::VersionLsb + lookup_pkg::VersionW != StateLsb ||
      StateLsb + StateW != lookup_pkg::DecoderLsb ||
      lookup_pkg::DecoderLsb + lookup_pkg::DecoderW != lookup_pkg::ClassLsb ||
      lookup_pkg::ClassLsb + lookup_pkg::ClassW != lookup_pkg::FlagsLsb ||
      lookup_pkg::FlagsLsb + lookup_pkg::FlagsW != lookup_pkg::SpareLsb ||
      lookup_pkg::SpareLsb + lookup_pkg::SpareW != EntryW || EntryW != 2 * lookup_pkg::WordW ||
      lookup_pkg::CodeW != EntryW + 2 * lookup_pkg::CheckW) begin : gen_check_entry
    $fatal(1, "lookup_pkg: the fields do not make an entry");
  end

`ifndef SYNTHESIS
  // A key is in one place.
  logic [2*Slots+2:0] places;
  assign places = {hit, buffer_hit_i, stash_hit_i} &
                  {(2 * Slots + 3) {valid_i && op_i != lookup_pkg::OpScrub}};
  always_comb begin
    assert ($onehot0(places))
    else $error("a key in two places");
  end
`endif
endmodule
