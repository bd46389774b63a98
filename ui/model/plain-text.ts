// Makes servers' texts safe to show: characters that reverse other text, hide in it or move the cursor are written out as codes.

/** Control characters, invisible characters, and those that change the direction of following text; line breaks and tabs stay. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export interface PlainText {
  readonly text: string;
  /** How many characters were cut off at the end. */
  readonly leftOut: number;
}

/** @param max characters of the text to show. */
export function plainText(said: unknown, max: number): PlainText {
  const whole = typeof said === 'string' ? said : said === undefined || said === null ? '' : jsonText(said);
  const isLong = whole.length > max;
  // Never cuts between the halves of a surrogate pair.
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
