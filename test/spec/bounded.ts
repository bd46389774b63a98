// The options of a gateway with short timeouts and a small body limit: rows about these bounds share its deployments.

export const BODY_BYTES_MAX = 4_096;
export const CALL_TIMEOUT_MS = 1_000;
export const CLIENT_ANSWER_TIMEOUT_MS = 1_500;
export const RESUMPTION_TIME_MS = 500;

export const BOUNDED = {
  options: [
    ['--max-body-bytes', String(BODY_BYTES_MAX)],
    ['--connect-timeout', '600ms'],
    ['--initialize-timeout', '900ms'],
    // Long, so that a session waits for the outcome of initialize even on a busy machine.
    ['--initialize-patience', '30s'],
    ['--list-timeout', '900ms'],
    ['--call-timeout', `${CALL_TIMEOUT_MS}ms`],
    ['--client-answer-timeout', `${CLIENT_ANSWER_TIMEOUT_MS}ms`],
    ['--resumption-time', `${RESUMPTION_TIME_MS}ms`],
  ].flat(),
} as const;
