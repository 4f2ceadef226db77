// How ops that name their dimensions take up transposes and drop dimensions of 1.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// The attributes that name the dimensions of one of a convolution's arrays.
struct ConvolutionDims {
  ir::AttrKey batch_or_input, feature_or_output, spatial;
};
inline constexpr ConvolutionDims kInput{ir::AttrKey::input_batch_dimension,
                                        ir::AttrKey::input_feature_dimension,
                                        ir::AttrKey::input_spatial_dimensions};
inline constexpr ConvolutionDims kKernel{ir::AttrKey::kernel_input_feature_dimension,
                                         ir::AttrKey::kernel_output_feature_dimension,
                                         ir::AttrKey::kernel_spatial_dimensions};
inline constexpr ConvolutionDims kOutput{ir::AttrKey::output_batch_dimension,
                                         ir::AttrKey::output_feature_dimension,
                                         ir::AttrKey::output_spatial_dimensions};
// Dimension d becomes to[d]. An attribute left out reads as 0.
void renameDims(ir::Op& convolution, const ConvolutionDims& dims, const ir::Ints& to);

// Each returns what stands for the result, or an invalid Value.
ir::Value layoutOfDot(Rewriter& rw, const ir::Op& dot);
ir::Value layoutOfConvolution(Rewriter& rw, const ir::Op& convolution);
ir::Value transposedConvolution(Rewriter& rw, const ir::Op& transpose);
// transpose(dot_general) and transpose(convolution)
ir::Value transposedProduct(Rewriter& rw, const ir::Op& transpose);
// True: its results are replaced.
bool layoutOfReduce(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
