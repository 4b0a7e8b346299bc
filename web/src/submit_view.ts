// SPDX-License-Identifier: Apache-2.0
// A form that makes a job file.  The daemon checks it while it is typed, and its problems stand at their lines.
import { jobAddress } from "./address.ts";
import { fill, h, say, type Child } from "./dom.ts";
import { emptyForm, jobFile, type JobForm } from "./job_file.ts";
import { ask, Refusal, type Problem } from "./request.ts";
import { maySubmit, type App, type View } from "./view.ts";

const pause_ms = 400;

// The form is kept while the page is open, so that a look at another view does not empty it.
let kept: JobForm = { ...emptyForm };

// The next reader of this tab does not see it: it may have secrets.
export function forgetForm(): void {
  kept = { ...emptyForm };
}

type TextField = Exclude<keyof JobForm, "adaptive">;

export class SubmitView implements View {
  readonly title = "Submit";
  readonly element: HTMLElement;
  private readonly form: JobForm = kept;
  private readonly yaml = h("ol", { class: "yaml", "aria-label": "Job file" });
  private readonly verdict = h("p", { class: "verdict", role: "status" });
  private readonly problems = h("ul", { class: "problems" });
  private readonly submit = h("button", { type: "submit", class: "primary" }, "Submit");
  private readonly copy = h("button", { type: "button", onclick: () => this.copyText() }, "Copy");
  private text = "";
  private timer = 0;
  private checking: AbortController | null = null;
  private sending = false;
  private open = true;

  constructor(app: App) {
    if (!maySubmit(app)) {
      this.element = h("div", { class: "card" }, h("h1", null, "Submit"), h("p", null, app.state.playback
        ? "A recorded run takes no jobs." : "This token may look only. A user's token submits jobs: ", !app.state.playback && h("code", null, "pollux token new NAME")));
      return;
    }
    const types = [...new Set([...app.state.nodes.values()].map((node) => node.type))].filter((type) => type !== null).join(", ");
    this.element = h("div", { class: "submit" },
      h("h1", null, "Submit a job"),
      h("div", { class: "columns submit-columns" },
        h("form", { class: "card form", onsubmit: (event: SubmitEvent) => { event.preventDefault(); void this.send(); } },
          this.area("command", "Command", "For /bin/sh. Required.", "python train.py --epochs 90", 3),
          h("div", { class: "form-row" },
            this.input("name", "Name", "Empty: made of the command", "resnet"),
            this.input("directory", "Directory", "An absolute path", "/home/ann/resnet")),
          this.check("adaptive", "Adaptive: it reports how it trains and fits its batch to its replicas"),
          h("div", { class: "form-row three" },
            this.input("minReplicas", "Least replicas", "", "0"), this.input("maxReplicas", "Most replicas", "", "16"),
            this.input("allowed", "Allowed counts", "any, pow2, multiple 4, or a list", "any")),
          h("div", { class: "form-row" },
            this.input("types", "Types of nodes", types ? `There are: ${types}` : "The nodes have no types", "any"),
            this.input("fixedBatch", "Fixed batch", "Total samples per update, if not adaptive", "")),
          this.area("environment", "Environment", "A line NAME=value for each variable", "DATA=/data/imagenet", 2),
          h("details", { class: "more" }, h("summary", null, "More fields"),
            h("div", { class: "form-row" },
              this.input("application", "Application", "Jobs of one application learn from each other", ""), this.input("weight", "Weight", "Relative to other jobs", "1")),
            h("div", { class: "form-row" },
              this.select("preemptible", "Preemptible", "May be moved while it runs", [["", "by default"], ["true", "yes"], ["false", "no"]]),
              this.select("launcher", "Launcher", "A process per replica, or one mpirun", [["", "env"], ["mpi", "mpi"]])),
            h("div", { class: "form-row" },
              this.input("grace", "Grace", "Seconds from the stop signal to SIGKILL", "30"), this.input("maxFailures", "Most failures", "It is started again after these", "3")),
            this.area("more", "Other lines", "YAML, as in docs/formats.md", "speeds: {t4: 1, a100: 4.5}", 3)),
          h("div", { class: "form-end" }, this.submit, this.verdict)),
        h("section", { class: "card", "aria-label": "Job file" },
          h("div", { class: "card-head" }, h("h2", null, "Job file"), this.copy),
          this.yaml, this.problems,
          h("p", { class: "small faint" }, "The same with the command: ", h("code", null, "pollux submit job.yaml")))));
    this.change();
  }

  update(): void {
    // The form depends on the reader only.
  }

  reconnected(): void {
    if (this.text) this.change();
  }

  close(): void {
    this.open = false;
    clearTimeout(this.timer);
    this.checking?.abort();
  }

  private label(text: string, help: string, control: HTMLElement): HTMLElement {
    return h("label", null, h("span", null, text), control, help && h("small", null, help));
  }

  private input(field: TextField, text: string, help: string, placeholder: string): HTMLElement {
    const control: HTMLInputElement = h("input", { type: "text", name: field, value: this.form[field], placeholder, autocomplete: "off", spellcheck: "false", oninput: () => this.set(field, control.value) });
    return this.label(text, help, control);
  }

  private area(field: TextField, text: string, help: string, placeholder: string, rows: number): HTMLElement {
    const control: HTMLTextAreaElement = h("textarea", { name: field, rows, placeholder, spellcheck: "false", class: "mono", oninput: () => this.set(field, control.value) }, this.form[field]);
    return this.label(text, help, control);
  }

  private select(field: TextField, text: string, help: string, choices: [string, string][]): HTMLElement {
    const control: HTMLSelectElement = h("select", { name: field, onchange: () => this.set(field, control.value) }, choices.map(([value, label]) => h("option", { value, selected: this.form[field] === value }, label)));
    return this.label(text, help, control);
  }

  private check(field: "adaptive", text: string): HTMLElement {
    const control: HTMLInputElement = h("input", { type: "checkbox", name: field, checked: this.form[field], onchange: () => { this.form[field] = control.checked; this.change(); } });
    return h("label", { class: "check" }, control, h("span", null, text));
  }

  private set(field: TextField, value: string): void {
    this.form[field] = value;
    this.change();
  }

  private change(): void {
    kept = this.form;
    this.text = jobFile(this.form);
    this.showText([]);
    clearTimeout(this.timer);
    this.checking?.abort();
    if (this.sending) return; // the answer comes first
    if (!this.form.command.trim()) {
      say(this.verdict, "A command is missing.");
      this.submit.disabled = true;
      return;
    }
    this.submit.disabled = false;
    say(this.verdict, "Checking…");
    this.timer = window.setTimeout(() => void this.checkText(), pause_ms);
  }

  private async checkText(): Promise<void> {
    const checking = new AbortController();
    this.checking = checking;
    try {
      const answer = await ask<{ name?: string; warning?: string | null }>("/v1/jobs?check=1", { method: "POST", body: this.text, headers: { "Content-Type": "application/yaml" }, signal: checking.signal });
      fill(this.verdict, h("span", { class: "good" }, "No problems."), answer.name ? ` Its name will be ${answer.name}.` : "", answer.warning && h("span", { class: "warn" }, ` ${answer.warning}`));
    } catch (error) {
      if (!checking.signal.aborted) this.refuse(error);
    }
  }

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    const { text } = this;
    clearTimeout(this.timer);
    this.checking?.abort();
    this.submit.disabled = true;
    say(this.verdict, "Submitting…");
    try {
      const job = await ask<{ name: string }>("/v1/jobs", { method: "POST", body: text, headers: { "Content-Type": "application/yaml" } });
      if (jobFile(kept) === text) forgetForm();
      if (this.open) location.hash = jobAddress(job.name);
    } catch (error) {
      if (!this.open) return;
      this.sending = false;
      this.submit.disabled = false;
      if (text === this.text) this.refuse(error);
      else this.change();
    }
  }

  private refuse(error: unknown): void {
    const problems = error instanceof Refusal ? error.problems : [];
    fill(this.verdict, h("span", { class: "bad" }, (error as Error).message));
    this.showText(problems);
  }

  // The file with line numbers.  A problem stands below its line; those without a line follow the file.
  private showText(problems: Problem[]): void {
    const lines = this.text.replace(/\n$/, "").split("\n");
    const at = (line: number) => problems.filter((problem) => problem.line === line);
    const loose = problems.filter((problem) => !problem.line || problem.line > lines.length);
    fill(this.yaml, lines.map((line, index): Child => {
      const here = at(index + 1);
      return h("li", { class: here.length ? "wrong" : "" }, h("code", null, line || " "),
        here.map((problem) => h("p", { class: "problem" }, problem.column ? h("b", null, `${problem.line}:${problem.column} `) : null, problem.message)));
    }));
    fill(this.problems, loose.map((problem) => h("li", { class: "problem" }, problem.message)));
    this.copy.disabled = !this.text;
  }

  private copyText(): void {
    navigator.clipboard.writeText(this.text).then(
      () => this.told("Copied"),
      () => {
        getSelection()?.selectAllChildren(this.yaml); // without permission, or without TLS
        this.told("Selected");
      });
  }

  private told(text: string): void {
    say(this.copy, text);
    setTimeout(() => say(this.copy, "Copy"), 1500);
  }
}
