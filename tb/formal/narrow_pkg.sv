// SPDX-License-Identifier: Apache-2.0
// lookup_pkg.sv with keys of 6 bits and entries of 14, for the check of the whole engine: every
// field is there, of a bit or two. Encodings are those of lookup_pkg.sv.
package lookup_pkg;
  localparam int unsigned KeyW = 6;
  localparam int unsigned EntryW = 14;
  localparam int unsigned TagW = 4;
  localparam int unsigned FieldsW = 9;
  localparam int unsigned SeedW = KeyW - 1;

  localparam int unsigned WordW = 7;
  localparam int unsigned CheckW = 1;
  localparam int unsigned CodeW = 16;

  localparam int unsigned TierW = 1;
  localparam int unsigned FrameW = 2;
  localparam int unsigned SizeW = 1;
  localparam int unsigned VersionW = 1;
  localparam int unsigned StateW = 1;
  localparam int unsigned DecoderW = 1;
  localparam int unsigned ClassW = 1;
  localparam int unsigned FlagsW = 1;
  localparam int unsigned SpareW = 1;
  localparam int unsigned TierLsb = 4;
  localparam int unsigned FrameLsb = 5;
  localparam int unsigned SizeLsb = 7;
  localparam int unsigned VersionLsb = 8;
  localparam int unsigned StateLsb = 9;
  localparam int unsigned DecoderLsb = 10;
  localparam int unsigned ClassLsb = 11;
  localparam int unsigned FlagsLsb = 12;
  localparam int unsigned SpareLsb = 13;

  typedef struct packed {
    logic [SpareW-1:0] spare;
    logic [FlagsW-1:0] flags;
    logic [ClassW-1:0] cls;
    logic [DecoderW-1:0] decoder;
    logic [StateW-1:0] state;
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

  // Cycles that a drain or a kick waits before it is given a request's slot.
  localparam int unsigned Patience = 4;
endpackage
