// Cuts the slashes at the end of an address.

const SLASH = 47

/** By a loop: the regular expression `/\/+$/` looks at each slash of a long run as often as there are slashes after it. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === SLASH) end -= 1
  return end === text.length ? text : text.slice(0, end)
}
