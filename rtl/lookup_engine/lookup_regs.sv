// SPDX-License-Identifier: Apache-2.0
// Registers: enable, seeds, scrub rate, error injection, counters. One 32-bit access at a time: it
// is taken when ready, its answer waits until taken. A write of a seed while the engine is enabled
// or holds an entry is refused (error, nothing changed). Counters wrap.
module lookup_regs #(
  parameter int unsigned WordsW = 5,
  parameter int unsigned BadW = 4,
  parameter int unsigned KickW = 6,
  parameter int unsigned StashW = 5,
  localparam int unsigned SeedW = lookup_pkg::SeedW,
  localparam int unsigned CodeW = lookup_pkg::CodeW
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               valid_i,
  output logic               ready_o,
  input  logic               write_i,
  input  logic [4:0]         address_i,
  input  logic [31:0]        data_i,
  output logic               valid_o,
  input  logic               ready_i,
  output logic [31:0]        data_o,
  output logic               error_o,

  output logic               enable_o,
  output logic [2*SeedW-1:0] seeds_o,
  output logic [31:0]        scrub_o,
  output logic               inject_o,
  output logic [CodeW-1:0]   inject_mask_o,
  input  logic               injected_i,

  input  logic               swept_i,
  input  logic               quiet_i,  // nothing in flight
  input  logic               lookup_i,
  input  logic               hit_i,
  input  logic               insert_i,
  input  logic               remove_i,
  input  logic               kick_i,
  input  logic [KickW-1:0]   kicks_i,  // of the entry on its way
  input  logic [StashW-1:0]  stash_i,
  input  logic [WordsW-1:0]  corrected_i,
  input  logic [BadW-1:0]    uncorrectable_i,
  input  logic [1:0]         conflicts_i,
  input  logic               stall_i,
  input  logic               stolen_i
);
  logic enable_q, inject_q, valid_q, error_q;
  logic [2*SeedW-1:0] seeds_q;
  logic [31:0] scrub_q, size_q, data_q;
  logic [CodeW-1:0] inject_mask_q;
  logic [31:0] lookups_q, hits_q, inserts_q, kicks_q, corrected_q, uncorrectable_q;
  logic [31:0] conflicts_q, stalls_q, stolen_q;
  logic [KickW-1:0] kicks_max_q;
  logic [StashW-1:0] stash_high_q;

  logic taken, writes, empty, seed, refused;
  assign ready_o = !valid_q;
  assign taken = valid_i && ready_o;
  assign empty = size_q == '0 && quiet_i;
  assign seed = address_i[4:2] == 3'd0 && address_i[1] || address_i[4:1] == 4'd2;
  assign refused = write_i && seed && (enable_q || !empty);
  assign writes = taken && write_i && !refused;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_q <= 1'b0;
      seeds_q <= {63'h2545f4914f6cdd1d, 63'h1e3779b97f4a7c15};
      scrub_q <= '0;
      inject_q <= 1'b0;
      inject_mask_q <= '0;
      valid_q <= 1'b0;
      error_q <= 1'b0;
      data_q <= '0;
    end else begin
      if (injected_i) inject_q <= 1'b0;
      if (writes) begin
        case (address_i)
          lookup_pkg::RegControl: enable_q <= data_i[0];
          lookup_pkg::RegSeed0: seeds_q[31:0] <= data_i;
          lookup_pkg::RegSeed0 + 5'd1: seeds_q[62:32] <= data_i[30:0];
          lookup_pkg::RegSeed0 + 5'd2: seeds_q[94:63] <= data_i;
          lookup_pkg::RegSeed0 + 5'd3: seeds_q[125:95] <= data_i[30:0];
          lookup_pkg::RegScrub: scrub_q <= data_i;
          lookup_pkg::RegInject0: inject_mask_q[31:0] <= data_i;
          lookup_pkg::RegInject0 + 5'd1: inject_mask_q[63:32] <= data_i;
          lookup_pkg::RegInject0 + 5'd2: inject_mask_q[95:64] <= data_i;
          lookup_pkg::RegInject0 + 5'd3: inject_mask_q[127:96] <= data_i;
          lookup_pkg::RegInject0 + 5'd4: begin
            inject_mask_q[143:128] <= data_i[15:0];
            inject_q <= 1'b1;
          end
          default: ;
        endcase
      end
      if (taken) begin
        valid_q <= 1'b1;
        error_q <= refused;
        data_q <= value;
      end else if (ready_i) begin
        valid_q <= 1'b0;
      end
    end
  end

  logic [31:0] value;
  always_comb begin
    case (address_i)
      lookup_pkg::RegControl: value = {31'b0, enable_q};
      lookup_pkg::RegStatus: value = {29'b0, empty, swept_i, enable_q};
      lookup_pkg::RegSeed0: value = seeds_q[31:0];
      lookup_pkg::RegSeed0 + 5'd1: value = {1'b0, seeds_q[62:32]};
      lookup_pkg::RegSeed0 + 5'd2: value = seeds_q[94:63];
      lookup_pkg::RegSeed0 + 5'd3: value = {1'b0, seeds_q[125:95]};
      lookup_pkg::RegScrub: value = scrub_q;
      lookup_pkg::RegSize: value = size_q;
      lookup_pkg::RegLookups: value = lookups_q;
      lookup_pkg::RegHits: value = hits_q;
      lookup_pkg::RegInserts: value = inserts_q;
      lookup_pkg::RegKicks: value = kicks_q;
      lookup_pkg::RegKicksMax: value = 32'(kicks_max_q);
      lookup_pkg::RegStashHigh: value = 32'(stash_high_q);
      lookup_pkg::RegCorrected: value = corrected_q;
      lookup_pkg::RegUncorrectable: value = uncorrectable_q;
      lookup_pkg::RegConflicts: value = conflicts_q;
      lookup_pkg::RegStalls: value = stalls_q;
      lookup_pkg::RegStolen: value = stolen_q;
      lookup_pkg::RegStash: value = 32'(stash_i);
      default: value = '0;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      size_q <= '0;
      lookups_q <= '0;
      hits_q <= '0;
      inserts_q <= '0;
      kicks_q <= '0;
      kicks_max_q <= '0;
      stash_high_q <= '0;
      corrected_q <= '0;
      uncorrectable_q <= '0;
      conflicts_q <= '0;
      stalls_q <= '0;
      stolen_q <= '0;
    end else begin
      size_q <= size_q + 32'(insert_i) - 32'(remove_i);
      lookups_q <= lookups_q + 32'(lookup_i);
      hits_q <= hits_q + 32'(hit_i);
      inserts_q <= inserts_q + 32'(insert_i);
      kicks_q <= kicks_q + 32'(kick_i);
      if (kick_i && kicks_i > kicks_max_q) kicks_max_q <= kicks_i;
      if (stash_i > stash_high_q) stash_high_q <= stash_i;
      corrected_q <= corrected_q + 32'(corrected_i);
      uncorrectable_q <= uncorrectable_q + 32'(uncorrectable_i);
      conflicts_q <= conflicts_q + 32'(conflicts_i);
      stalls_q <= stalls_q + 32'(stall_i);
      stolen_q <= stolen_q + 32'(stolen_i);
    end
  end

  assign valid_o = valid_q;
  assign data_o = data_q;
  assign error_o = error_q;
  assign enable_o = enable_q;
  assign seeds_o = seeds_q;
  assign scrub_o = scrub_q;
  assign inject_o = inject_q;
  assign inject_mask_o = inject_mask_q;
endmodule
