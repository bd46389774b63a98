// The answer options with the program's defaults.
import type { AnswerOptions } from '../../src/config/dataplane-options.js';

export const answerOptions: AnswerOptions = {
  slowAnswerMs: 5_000,
  streamKeepAliveMs: 14_000,
  resumptionTimeMs: 300_000,
  resumptionBytesMax: 4 * 1024 * 1024,
};
