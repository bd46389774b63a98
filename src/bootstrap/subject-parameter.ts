// The subject in the path of a helper endpoint.

export type SubjectParameter =
  { readonly ok: true; readonly subject: string } | { readonly ok: false; readonly problem: string };

/** @param parameter the path segment, still percent-encoded. */
export function decodeSubject(parameter: string): SubjectParameter {
  try {
    const subject = decodeURIComponent(parameter);
    if (subject === '') return { ok: false, problem: 'The subject is empty: name it as the last segment of the path.' };
    return { ok: true, subject };
  } catch {
    return {
      ok: false,
      problem: 'The subject in the path is not valid percent-encoded UTF-8: encode it as a URI component.',
    };
  }
}
