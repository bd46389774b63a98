// Freezes plain data all the way down. Bytes stay as they are: JavaScript cannot freeze a view with elements.

export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
