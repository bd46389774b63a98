/** Any text as printable ASCII, for assertion names: TAP loses a line that contains a line separator. */
export function printable(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
