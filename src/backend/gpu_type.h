/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_GPU_TYPE_H
#define BACKEND_GPU_TYPE_H

#include "cluster/node.h"

/* A GPU's name, as nvidia-smi prints it, as a type: in lower case, without maker, brand, form and size of
 * memory.  "NVIDIA A100-SXM4-40GB" is a100, "NVIDIA GeForce RTX 2080 Ti" is rtx2080ti.  "gpu": nothing remains. */
void gpu_type (const char *name, char ret[NAME_SIZE]);

/* A type of GPUs of slurm.conf: a name that Slurm's AutoDetect has made from that of nvidia-smi as above
 * ("nvidia_a100-sxm4-80gb" is a100), a name that the administrator chose as it is. */
void gpu_type_of_gres (const char *name, char ret[NAME_SIZE]);

#endif
