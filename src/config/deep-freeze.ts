// Freezes plain data recursively. Binary data stays unfrozen: JavaScript cannot freeze a view that has elements.

export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
