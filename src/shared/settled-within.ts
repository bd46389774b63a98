// Waits for a promise, but not for ever. Cold path.

/** Settles as the promise does; if that takes longer than `ms`, resolves with what `onLate` returns. */
export async function settledWithin<Value, Late>(
  promise: Promise<Value>,
  ms: number,
  onLate: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Late>((resolve) => (timer = setTimeout(() => resolve(onLate()), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
