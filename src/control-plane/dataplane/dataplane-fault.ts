// Why the dataplane's admin listener has not told what somebody asked: in words for everybody, and in words for those who run it.

export type DataplaneFaultCode = 'dataplane-unnamed' | 'dataplane-unreachable' | 'dataplane-busy' | 'dataplane-refused';

export class DataplaneFault extends Error {
  override readonly name = 'DataplaneFault';
  readonly code: DataplaneFaultCode;
  /** With addresses, and what the listener itself has said. */
  readonly wordsForAdmins: string;

  constructor(code: DataplaneFaultCode, words: string, wordsForAdmins = words) {
    super(words);
    this.code = code;
    this.wordsForAdmins = wordsForAdmins;
  }
}
