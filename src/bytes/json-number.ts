// The grammar of a JSON number as a table: `state = nextNumberState[state | numberClass[byte]]`, one look-up per byte, so that parsing a
// number cut anywhere by the end of a chunk resumes from a single integer of state. Hot path.

/** States are multiples of the row length. `none` means that the byte does not belong to the number. */
export const numberState = {
  none: 0,
  /** After `-`. */
  sign: 8,
  /** After a leading `0`, which no digit may follow. */
  zero: 16,
  integer: 24,
  /** After the `.`. */
  point: 32,
  fraction: 40,
  /** After `e` or `E`. */
  exponent: 48,
  exponentSign: 56,
  exponentDigits: 64,
  /** Before the first byte. */
  start: 72,
} as const;

const byteClass = { other: 0, zero: 1, digit: 2, point: 3, exponent: 4, plus: 5, minus: 6 } as const;

export const numberClass = new Uint8Array(256);
for (const digit of '123456789') numberClass[digit.charCodeAt(0)] = byteClass.digit;
numberClass[0x30] = byteClass.zero;
numberClass[0x2e] = byteClass.point;
numberClass[0x45] = byteClass.exponent;
numberClass[0x65] = byteClass.exponent;
numberClass[0x2b] = byteClass.plus;
numberClass[0x2d] = byteClass.minus;

export const nextNumberState = new Uint8Array(80);

function allow(from: keyof typeof numberState, to: keyof typeof numberState, ...on: (keyof typeof byteClass)[]): void {
  for (const name of on) nextNumberState[numberState[from] | byteClass[name]] = numberState[to];
}

allow('start', 'sign', 'minus');
allow('start', 'zero', 'zero');
allow('start', 'integer', 'digit');
allow('sign', 'zero', 'zero');
allow('sign', 'integer', 'digit');
allow('zero', 'point', 'point');
allow('zero', 'exponent', 'exponent');
allow('integer', 'integer', 'zero', 'digit');
allow('integer', 'point', 'point');
allow('integer', 'exponent', 'exponent');
allow('point', 'fraction', 'zero', 'digit');
allow('fraction', 'fraction', 'zero', 'digit');
allow('fraction', 'exponent', 'exponent');
allow('exponent', 'exponentSign', 'plus', 'minus');
allow('exponent', 'exponentDigits', 'zero', 'digit');
allow('exponentSign', 'exponentDigits', 'zero', 'digit');
allow('exponentDigits', 'exponentDigits', 'zero', 'digit');

/** Whether a number may end in this state. */
export function isNumberComplete(state: number): boolean {
  return (
    state === numberState.integer ||
    state === numberState.zero ||
    state === numberState.fraction ||
    state === numberState.exponentDigits
  );
}
