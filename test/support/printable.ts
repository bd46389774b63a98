/** Any text as printable ASCII, for the name of an assertion: TAP loses a line with a line separator in it. */
export function printable(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
