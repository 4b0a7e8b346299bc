# SPDX-License-Identifier: Apache-2.0
# Makes synthetic-resnet.csv:   awk -f examples/synthetic-resnet.awk
#
# Synthetic step times, not measured: the throughput model with parameters typical of a ResNet-50 on
# nodes of four GPUs, with 2 % noise.  A fit of the file should give about these parameters:
#
#   T_grad = 0.028 s + 0.0026 s x m
#   T_sync = 0, 0.025 s + 0.006 s x (K-2) on one node, 0.095 s + 0.0035 s x (K-2) on several
#   T_step = (T_grad^2.2 + T_sync^2.2)^(1/2.2)

# Uniform in (0, 1).  A fixed generator, so that every awk makes the same file.
function uniform()
{
    state = (state * 16807) % 2147483647
    return state / 2147483647
}

# A factor near 1: the exponential of a normal variable with standard deviation 0.02.
function noise()
{
    return exp(0.02 * sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()))
}

BEGIN {
    state = 2021
    print "nodes,replicas,local_bsz,grad_s,step_s"
    placements = split("1 1,1 2,1 3,1 4,2 2,2 4,2 8,4 8,4 16,8 32", placement, ",")
    batches = split("24 48 96", batch, " ")
    for (p = 1; p <= placements; p++) {
        split(placement[p], shape, " ")
        nodes = shape[1]
        replicas = shape[2]
        for (b = 1; b <= batches; b++) {
            grad = 0.028 + 0.0026 * batch[b]
            sync = 0
            if (nodes > 1)
                sync = 0.095 + 0.0035 * (replicas - 2)
            else if (replicas > 1)
                sync = 0.025 + 0.006 * (replicas - 2)
            step = (grad ^ 2.2 + sync ^ 2.2) ^ (1 / 2.2)
            printf "%d,%d,%d,%.5f,%.5f\n", nodes, replicas, batch[b], grad * noise(), step * noise()
        }
    }
}
