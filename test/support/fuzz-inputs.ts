// How many inputs a fuzz test takes: few in an ordinary test run, or as many as SWITCHYARD_FUZZ_INPUTS says.

export function fuzzInputs(usual: number): number {
  const wanted = Number(process.env['SWITCHYARD_FUZZ_INPUTS'] ?? usual);
  if (!Number.isSafeInteger(wanted) || wanted < 1) throw new Error('SWITCHYARD_FUZZ_INPUTS is a whole number from 1');
  return wanted;
}
