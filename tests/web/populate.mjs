// SPDX-License-Identifier: Apache-2.0
// Fills a polluxd that has the fake backend with jobs of all kinds, for benches and pictures.
//
//     const daemon = await tests.daemon("--config", nodesFile(folder, 1000));
//     await populate(daemon, 5000);
//
// 70 % of the jobs are live, most of these run and have a model; 1 in 50 asks for more slots than a type has and waits; the others
// have ended.  Names, owners and sizes follow from the number of the job: two fillings are equal.
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join, until } from "./lib.mjs";

const applications = ["resnet50", "bert", "gpt2", "yolov3", "deepspeech2", "ncf", "diffusion", "vit"];
const owners = ["ann", "bo", "chidi", "dana", "emre", "fatima"];
const name = (i) => `${applications[(i * 5 + (i >> 3)) % applications.length]}-${String(i).padStart(4, "0")}`;

// A configuration with so many nodes of 8 slots, of three types.
export function nodesFile(folder, nodes, interval = 60) {
  const file = join(folder, `nodes-${nodes}.yaml`);
  const type = (i) => (i < nodes * 0.4 ? "a100" : i < nodes * 0.8 ? "v100" : "t4");
  const lines = Array.from({ length: nodes }, (_, i) => `  - {name: ${type(i)}-${String(i).padStart(4, "0")}, slots: 8, type: ${type(i)}}`);
  writeFileSync(file, `backend: fake\ninterval: ${interval}\nnodes:\n${lines.join("\n")}\n`);
  return file;
}

const agent = new Agent({ keepAlive: true, maxSockets: 24 });

function post(daemon, token, path, body) {
  return new Promise((done, failed) => {
    const text = JSON.stringify(body);
    const sent = request(daemon.url + path, { agent, method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "content-length": Buffer.byteLength(text) } }, (answer) => {
      let out = "";
      answer.on("data", (part) => (out += part));
      answer.on("end", () => (answer.statusCode < 300 ? done(out) : failed(new Error(`${path}: ${answer.statusCode} ${out}`))));
    });
    sent.on("error", failed);
    sent.end(text);
  });
}

// All at once, at most 800 per second: the rate limit of a token is 1000.
async function each(list, call) {
  const began = Date.now();
  let next = 0;
  const work = async () => {
    while (next < list.length) {
      const i = next++;
      const early = began + i / 0.8 - Date.now();
      if (early > 5) await new Promise((resume) => setTimeout(resume, early));
      await call(list[i], i);
    }
  };
  await Promise.all(Array.from({ length: 24 }, work));
}

// A report of job i in its present generation.
export function hints(i, generation, progress, replicas) {
  const kind = 1 + (i % 7);
  const m = 16 * (1 + (i % 4));
  return {
    version: 1,
    generation,
    model: { alpha_grad: 0.05 * kind, beta_grad: 0.001 * kind, alpha_node: 0.2, beta_node: 0.002, alpha_local: 0.05, beta_local: 0.001, gamma: 2 },
    grad: { sqr: 0.01, var: 0.1 * kind },
    ...{ init_batch: 16, max_batch: 8192, min_local: 16, max_local: 512, accumulation: true, max_profiled_replicas: Math.max(1, replicas) },
    ...{ progress, total: 20000 + 997 * (i % 50), m, s: i % 3 === 0 ? 1 : 0, step_s: 0.05 * kind + 0.001 * kind * m * 1.03, rate_factor: 1 + (i % 9) / 4 },
  };
}

const ends = (i) => i % 10 < 3;

export async function populate(daemon, count) {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const tokens = await Promise.all(owners.map((owner) => daemon.token(owner, "user")));
  await each(numbers, (i) => {
    const min = i % 50 === 7 ? 4096 : 1;
    const spec = { name: name(i), application: name(i).split("-")[0], command: ends(i) ? [i % 40 === 1 ? "false" : "true"] : ["python", "train.py", "--epochs", "90"], min_replicas: min, max_replicas: Math.max(min, 1 + (i % 8)), adaptive: true, max_failures: 0, grace: 10 };
    return post(daemon, tokens[i % owners.length], "/v1/jobs", spec);
  });
  const live = () => fetchJobs(daemon, "live");
  await until("the jobs run", async () => {
    const status = await (await daemon.get("/v1/status")).json();
    return status.jobs.pending <= Math.ceil(count / 50) && status.jobs.finished + status.jobs.failed >= 0.3 * count;
  }, 90_000);
  const jobs = (await live()).filter((job) => job.phase === "running");
  await report(daemon, jobs);
  return jobs;
}

// The jobs of a phase, from all pages of the list.
export async function fetchJobs(daemon, phase) {
  const all = [];
  for (let after = ""; ; ) {
    const answer = await (await daemon.get(`/v1/jobs?phase=${phase}&limit=1000${after}`)).json();
    all.push(...answer.jobs);
    if (!answer.next) return all;
    after = `&after=${encodeURIComponent(answer.next)}`;
  }
}

// A report of each of these jobs.
export function report(daemon, jobs, share = 0) {
  const token = daemon.adminToken;
  return each(jobs, (job) => {
    const i = Number(job.name.split("-").pop());
    const progress = (20000 + 997 * (i % 50)) * Math.min(0.99, ((i * 37) % 97) / 100 + share);
    return post(daemon, token, `/v1/jobs/${job.name}/hints`, hints(i, job.generation, progress, job.replicas)).catch((error) => {
      if (!/ 409 /.test(error.message)) throw error; // it was moved meanwhile
    });
  });
}
