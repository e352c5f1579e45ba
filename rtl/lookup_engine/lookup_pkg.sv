// SPDX-License-Identifier: Apache-2.0
// Widths, layouts and encodings of the lookup engine. The layout of an entry and all encodings are
// those of model/index/entry.h and model/index/request.h.
package lookup_pkg;
  localparam int unsigned KeyW = 64;
  localparam int unsigned EntryW = 128;
  localparam int unsigned TagW = 62;
  localparam int unsigned FieldsW = 9;  // update mask: every field but the tag
  localparam int unsigned SeedW = KeyW - 1;

  // An entry is two words, each with its check bits: {check1, check0, word1, word0}.
  localparam int unsigned WordW = 64;
  localparam int unsigned CheckW = 8;
  localparam int unsigned CodeW = 144;

  // A field's width and lowest bit in an entry.
  localparam int unsigned TierW = 2;
  localparam int unsigned FrameW = 32;
  localparam int unsigned SizeW = 8;
  localparam int unsigned VersionW = 8;
  localparam int unsigned StateW = 3;
  localparam int unsigned DecoderW = 3;
  localparam int unsigned ClassW = 3;
  localparam int unsigned FlagsW = 3;
  localparam int unsigned SpareW = 4;
  localparam int unsigned TierLsb = 62;
  localparam int unsigned FrameLsb = 64;
  localparam int unsigned SizeLsb = 96;
  localparam int unsigned VersionLsb = 104;
  localparam int unsigned StateLsb = 112;
  localparam int unsigned DecoderLsb = 115;
  localparam int unsigned ClassLsb = 118;
  localparam int unsigned FlagsLsb = 121;
  localparam int unsigned SpareLsb = 124;

  typedef struct packed {
    logic [SpareW-1:0] spare;
    logic [FlagsW-1:0] flags;  // stale, shadow-valid, pinned
    logic [ClassW-1:0] cls;
    logic [DecoderW-1:0] decoder;
    logic [StateW-1:0] state;  // 0: free
    logic [VersionW-1:0] version;
    logic [SizeW-1:0] size;
    logic [FrameW-1:0] frame;
    logic [TierW-1:0] tier;
    logic [TagW-1:0] tag;
  } entry_t;

  typedef enum logic [2:0] {
    OpLookup = 3'd0,
    OpInsert = 3'd1,
    OpUpdate = 3'd2,
    OpDelete = 3'd3,
    OpEvict = 3'd4,
    OpScrub = 3'd5
  } op_e;

  typedef enum logic [2:0] {
    StHit = 3'd0,
    StMiss = 3'd1,
    StDone = 3'd2,
    StExists = 3'd3,
    StFull = 3'd4,
    StVersionMismatch = 3'd5,
    StUncorrectable = 3'd6
  } status_e;

  // Registers, by 32-bit word.
  localparam logic [4:0] RegControl = 5'd0;  // bit 0: enable
  localparam logic [4:0] RegStatus = 5'd1;   // bit 0: enabled, 1: swept, 2: empty
  localparam logic [4:0] RegSeed0 = 5'd2;    // 2, 3: seed of half 0; 4, 5: of half 1
  localparam logic [4:0] RegScrub = 5'd6;    // accepted requests from scrub to scrub; 0: none
  localparam logic [4:0] RegSize = 5'd7;
  localparam logic [4:0] RegLookups = 5'd8;
  localparam logic [4:0] RegHits = 5'd9;
  localparam logic [4:0] RegInserts = 5'd10;
  localparam logic [4:0] RegKicks = 5'd11;
  localparam logic [4:0] RegKicksMax = 5'd12;
  localparam logic [4:0] RegStashHigh = 5'd13;
  localparam logic [4:0] RegCorrected = 5'd14;
  localparam logic [4:0] RegUncorrectable = 5'd15;
  localparam logic [4:0] RegConflicts = 5'd16;
  localparam logic [4:0] RegStalls = 5'd17;
  localparam logic [4:0] RegStolen = 5'd18;
  localparam logic [4:0] RegStash = 5'd19;
  localparam logic [4:0] RegInject0 = 5'd24;  // 24 to 28: bits to flip; writing 28 arms

  // Cycles that a drain or a kick waits before it is given a request's slot.
  localparam int unsigned Patience = 64;
endpackage
