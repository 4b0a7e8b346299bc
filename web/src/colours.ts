// SPDX-License-Identifier: Apache-2.0
// Colours of jobs.  Jobs that run side by side have numbers near to each other: their hues differ by the golden angle, and seven levels of
// lightness follow another irrational step, so that jobs with nearly the same hue differ in lightness.  The levels keep a contrast of 3 to 1
// with the page's background.

interface Levels {
  low: number; // lightness
  high: number;
  chroma: number;
}
const lightLevels: Levels = { low: 0.45, high: 0.65, chroma: 0.135 };
const darkLevels: Levels = { low: 0.6, high: 0.8, chroma: 0.105 };

const golden = 137.50776;
const levelCount = 7, levelStep = 0.7548776662; // 1 / the plastic number

export function jobColour(index: number, dark: boolean): string {
  const { low, high, chroma } = dark ? darkLevels : lightLevels;
  const level = Math.floor(((index * levelStep) % 1) * levelCount) / (levelCount - 1);
  return oklch(low + (high - low) * level, chroma, (index * golden + 255) % 360);
}

// Oklch (Ottosson 2020) to sRGB as #rrggbb.  Colours outside of sRGB lose chroma until they fit.
export function oklch(lightness: number, chroma: number, hue: number): string {
  for (let part = chroma; ; part -= 0.01) {
    const rgb = linear(lightness, Math.max(0, part), hue);
    if (part <= 0 || rgb.every((value) => value >= -0.0005 && value <= 1.0005)) return `#${rgb.map(byte).join("")}`;
  }
}

function linear(lightness: number, chroma: number, hue: number): number[] {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle), b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function byte(value: number): string {
  const bounded = Math.min(1, Math.max(0, value));
  const coded = bounded <= 0.0031308 ? 12.92 * bounded : 1.055 * bounded ** (1 / 2.4) - 0.055;
  return Math.round(coded * 255).toString(16).padStart(2, "0");
}

// Contrast of two colours #rrggbb, 1 to 21 (WCAG 2).
export function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const part = (start: number) => {
    const value = parseInt(colour.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}
