/* SPDX-License-Identifier: Apache-2.0 */
/* The averages of Adam's squared gradients: as they are, and as they would be with batch M0. */
#include "agent/second_moment.h"

#include <math.h>

/* Ratios of two energies, and their sums, stay finite. */
static const double least_energy = 1e-140, most_energy = 1e140;

void second_moment_measure (struct second_moment *moment, double sqr, double gain)
{
    double energy = sqr * gain;
    if (!(energy >= least_energy && energy <= most_energy))
        return;
    if (moment->energy == 0) { /* what came before is counted as if it had been as large */
        moment->now *= energy;
        moment->init *= energy;
    }
    moment->energy = energy;
}

struct second_moment second_moment_next (struct second_moment moment, double beta2, double gain)
{
    double energy = moment.energy > 0 ? moment.energy : 1;
    moment.now = beta2 * moment.now + (1 - beta2) * energy / gain;
    moment.init = beta2 * moment.init + (1 - beta2) * energy;
    return moment;
}

double second_moment_factor (struct second_moment next, double gain)
{
    return next.init > 0 ? gain * sqrt (next.now / next.init) : 1;
}

bool second_moment_is_legal (const struct second_moment *moment)
{
    return moment->now >= 0 && moment->now <= moment->init && moment->init <= most_energy &&
           (moment->energy == 0 ||
            (moment->energy >= least_energy && moment->energy <= most_energy));
}
