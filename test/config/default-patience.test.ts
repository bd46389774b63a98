// By default, no response is silent for as long as a proxy in front waits that gives up after 20 s.
import t from 'tap';
import { controlPlaneOptions, dataplaneOptions } from '../../src/config/dataplane-options.js';
import { optionLoader } from './option-loader.js';

const PROXY_MS = 20_000;
/** The head of a slow response may be late by this factor. */
const LATE_TIMES = 1.25;

for (const { load } of [
  optionLoader('dataplane', dataplaneOptions),
  optionLoader('control-plane', controlPlaneOptions),
]) {
  const { slowAnswerMs, streamKeepAliveMs } = load([]).answers;
  t.ok(slowAnswerMs * LATE_TIMES < PROXY_MS, `the head of a slow answer: ${slowAnswerMs} ms`);
  t.ok(streamKeepAliveMs < PROXY_MS, `a comment on a silent stream: ${streamKeepAliveMs} ms`);
}
