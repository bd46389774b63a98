// A fault of something outside of this process, such as the store. It is logged without a stack trace: where it was noticed is of no use.
export class OutsideFault extends Error {
  override readonly name: string = 'OutsideFault';
}
