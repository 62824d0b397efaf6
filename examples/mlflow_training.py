#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a line with gradient descent, and logs the loss, MLflow's system metrics and perfd's numbers of the job in one run of MLflow.

    python3 examples/mlflow_training.py [STEPS]             # perfd_mlflow.py in $PYTHONPATH, or pip install ./clients/python
    perfctl run --mlflow -- python3 examples/mlflow_training.py

Without MLFLOW_TRACKING_URI, MLflow writes the file mlflow.db, which `mlflow ui` shows. MLflow's system metrics need psutil.
"""

import random
import sys

import mlflow
import perfd_mlflow

RATE, SAMPLES = 0.1, 20000


def train(weights, samples):
    """Makes one step. Returns the mean squared error before it."""
    slope, offset = weights
    errors = [(slope * x + offset - y, x) for x, y in samples]
    weights[0] -= RATE * 2 * sum(error * x for error, x in errors) / len(errors)
    weights[1] -= RATE * 2 * sum(error for error, _ in errors) / len(errors)
    return sum(error * error for error, _ in errors) / len(errors)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    points = [random.random() for _ in range(SAMPLES)]
    samples = [(x, 3 * x + 1 + random.gauss(0, 0.1)) for x in points]
    weights = [0.0, 0.0]
    mlflow.enable_system_metrics_logging()
    with mlflow.start_run() as run, perfd_mlflow.job(every=50) as live:
        for step in range(steps):
            mlflow.log_metric("loss", train(weights, samples), step=step)
            live(step)
    print(run.info.run_id)


if __name__ == "__main__":
    main()
