/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Student: probabilities of Student's t and of the normal distribution */

/* Probability of |T| >= |t| with df > 0 degrees of freedom, which need not be whole. 0 if t is infinite; NAN if t is
 * NAN. */
double student_two_sided(double t, double df);
/* Probability that a standard normal variable exceeds z. */
double student_normal_above(double z);
