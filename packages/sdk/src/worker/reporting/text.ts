/** Texts of users on their way into PostgreSQL: no NUL, no half surrogate pairs, no more bytes than allowed. */

const encoder = new TextEncoder()
const ellipsis = '…'

/** `text` without what PostgreSQL's `text` cannot hold. */
export function sanitise(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** `text`, sanitised, in at most `maxBytes` of UTF-8; what was cut off shows as an ellipsis. */
export function clip(text: string, maxBytes: number): string {
  // Every UTF-16 unit needs at least one byte, so the rest cannot be kept anyway: a huge text is not walked.
  const cut = text.length > maxBytes
  const clean = sanitise(cut ? text.slice(0, maxBytes) : text)
  if (!cut && (clean.length * 3 <= maxBytes || Buffer.byteLength(clean) <= maxBytes)) return clean
  const room = maxBytes - Buffer.byteLength(ellipsis)
  if (room <= 0) return ''
  const { read } = encoder.encodeInto(clean, new Uint8Array(room))
  return clean.slice(0, read) + ellipsis
}
