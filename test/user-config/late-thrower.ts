// A task after which its thread ends by an error, as a library may bring about that still has something to do.
export default function answer(task: string): string {
  setImmediate(() => {
    throw new Error('late');
  });
  return `done: ${task}`;
}
