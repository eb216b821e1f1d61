/** Numbers, times and names as a report shows them. */
import { type Html, html } from "./html.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in its two largest units, for example `2 h 4 min`. */
export function duration(ms: number): string {
  if (ms < 1) return "0 ms";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return units(ms, MINUTE, "min", SECOND, "s");
  if (ms < 2 * DAY) return units(ms, HOUR, "h", MINUTE, "min");
  return units(ms, DAY, "d", HOUR, "h");
}

function units(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 || whole >= 10 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

export function count(value: number | bigint): string {
  return value.toLocaleString("en-US");
}

export function counted(value: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${Number(value) === 1 ? noun : plural}`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(value: bigint): string {
  let amount = Number(value);
  let unit = 0;
  while (amount >= 1024 && unit < BYTE_UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** `2026-11-30 07:22 UTC`; the script of the page shows it in the reader's own time zone as a tooltip. */
export function moment(iso: string): Html {
  return html`<time datetime="${iso}">${plainMoment(iso)}</time>`;
}

export function plainMoment(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** How long before the report something was. */
export function ago(iso: string, now: string): Html {
  const age = Math.max(Date.parse(now) - Date.parse(iso), 0);
  return html`<time datetime="${iso}" title="${plainMoment(iso)}">${duration(age)} ago</time>`;
}

/** How many times one length of time is another, for example `14×`. */
export function times(factor: number): string {
  if (factor >= 100) return `${count(Math.round(factor))}×`;
  return factor >= 10 ? `${Math.round(factor)}×` : `${factor.toFixed(1)}×`;
}

export function shorten(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** An element's id for a name: letters, digits, `_` and `-` stay, everything else is written as its code. */
export function anchor(kind: string, text: string): string {
  return `${kind}-${[...text].map((letter) => (/[A-Za-z0-9_-]/.test(letter) ? letter : `.${letter.codePointAt(0)?.toString(16)}`)).join("")}`;
}

/** Column ids such as `"price#12"` are written as the columns' names. */
export function readable(detail: string): string {
  return detail.replaceAll(/"((?:[^"]|"")*)#(?:data)?\d+"/g, "$1");
}
