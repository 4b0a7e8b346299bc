// SPDX-License-Identifier: Apache-2.0
// Addresses of views in the fragment: #/jobs/resnet, #/jobs?phase=live&sort=goodput.

export interface Address {
  path: string[];
  query: URLSearchParams;
}

export function parseAddress(fragment: string): Address {
  const text = fragment.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const path = (mark < 0 ? text : text.slice(0, mark)).split("/").filter(Boolean).map(decode);
  return { path, query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)) };
}

export function formatAddress(path: string[], query?: URLSearchParams | Record<string, string>): string {
  const parameters = query ? new URLSearchParams(query).toString() : "";
  return `#/${path.map(encodeURIComponent).join("/")}${parameters ? `?${parameters}` : ""}`;
}

export const jobAddress = (name: string) => formatAddress(["jobs", name]);
export const roundAddress = (number: number) => formatAddress(["rounds", String(number)]);
// The path of a job in the API.
export const jobPath = (name: string) => `/v1/jobs/${encodeURIComponent(name)}`;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
