// A task after which its thread ends by an error, as a library may bring about that still has something to do.
/** @param answered becomes 1 when the answer has arrived: the answer and the error come by two ways, in either order. */
export default function answer(answered: Int32Array): string {
  const fail = (): void => {
    if (Atomics.load(answered, 0) === 1) throw new Error('late');
    setImmediate(fail);
  };
  setImmediate(fail);
  return 'done';
}
