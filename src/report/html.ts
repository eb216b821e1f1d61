/** HTML and SVG as text in which everything that is not markup of this project's own is escaped. */

/** Markup that is safe to put into a page. */
export class Html {
  constructor(readonly text: string) {}
}

export type Content = Html | string | number | bigint | null | false | undefined | readonly Content[];

/** Markup with values: other markup is put in as it is, anything else as escaped text, and nothing for null and false. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = parts[0] ?? "";
  values.forEach((value, index) => {
    text += print(value) + (parts[index + 1] ?? "");
  });
  return new Html(text);
}

function print(value: Content): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(print).join("");
  return escapeText(String(value));
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for an element or a quoted attribute. Control characters, which no page may hold, are replaced. */
function escapeText(text: string): string {
  return (
    text
      .replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant.
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, "\ufffd")
  );
}

/** A name of the user's own, whose writing direction stays its own. */
export function name(text: string): Html {
  return html`<bdi class="name">${text}</bdi>`;
}
