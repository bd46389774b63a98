// HTML as text, with everything that is put into it escaped.

/** What is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[];

/** A template's own text is HTML; strings that are put in are not. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.map((text, index) => text + written(parts[index] ?? '')).join(''));
}

/** Text with `code` in backticks. */
export function prose(text: string): Html {
  return new Html(escape(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>'));
}

function written(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return escape(String(part));
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
