// Texts of servers, made safe to look at: what would turn the direction of other text, hide in it or move the cursor is written out.

/** Controls, invisible characters and those that change the direction of what follows; line breaks and tabs stay. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export interface PlainText {
  readonly text: string;
  /** Characters that were left out at its end. */
  readonly leftOut: number;
}

/** @param max characters of the text that are looked at. */
export function plainText(said: unknown, max: number): PlainText {
  const whole = typeof said === 'string' ? said : said === undefined || said === null ? '' : jsonText(said);
  const isLong = whole.length > max;
  // Not between the halves of a character.
  const end = isLong && /[\ud800-\udbff]/.test(whole[max - 1] ?? '') ? max - 1 : max;
  const kept = isLong ? whole.slice(0, end) : whole;
  return { text: kept.replace(/\r\n/g, '\n').replace(UNSEEN, written), leftOut: whole.length - kept.length };
}

function written(char: string): string {
  return `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? '';
}
