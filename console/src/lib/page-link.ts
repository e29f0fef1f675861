// Links whose address comes from data: only what a browser opens as a page, never what it would run.

/** The address, or null if it is not a page: then it is shown as text. */
export function pageLink(address: string): string | null {
  try {
    const { protocol } = new URL(address, 'https://relative.invalid')
    const isAbsolute = /^https?:\/\//i.test(address)
    return (protocol === 'https:' || protocol === 'http:') && isAbsolute ? address : null
  } catch {
    return null
  }
}
