/** The name that was probably meant: the same letters in another spelling, a forgotten unit, or a slip. */
export function nearest(name: string, known: readonly string[]): string | null {
  return nearestBy(knownForm, name, known)
}

/** The same among names that a caller sent: they are not kept. */
export function nearestOf(name: string, sent: readonly string[]): string | null {
  return nearestBy(formOf, name, sent)
}

function nearestBy(formOfKnown: (known: string) => Form, name: string, known: readonly string[]): string | null {
  if (name.length > longest) return null
  const wanted = formOf(name)
  if (wanted.plain === '') return null
  const allowed = wanted.plain.length <= 4 ? 1 : 2
  let best: { other: string; away: number } | null = null
  for (const other of known) {
    const form = formOfKnown(other)
    if (form.plain === wanted.plain) return other
    // `timeout` for `timeoutSec`, `retention` for `retentionDays`.
    if (form.plain.startsWith(wanted.plain) && units.has(form.plain.slice(wanted.plain.length))) return other
    if (Math.abs(form.plain.length - wanted.plain.length) > allowed) continue
    // A slip changes at most two letters: what differs in more cannot be one, and need not be compared.
    if (bits(form.letters ^ wanted.letters) > 2 * allowed) continue
    const away = distance(form.plain, wanted.plain)
    if (away <= allowed && away < wanted.plain.length / 2 && (best === null || away < best.away)) best = { other, away }
  }
  return best?.other ?? null
}

const longest = 40
const units = new Set(['ms', 'sec', 'days', 'mb'])

interface Form {
  plain: string
  /** One bit for each letter that is in it. */
  letters: number
}

/** Of the names we know ourselves, which are few; those that callers send are not kept. */
const forms = new Map<string, Form>()
const mostForms = 5_000

function knownForm(name: string): Form {
  let form = forms.get(name)
  if (form === undefined) {
    form = formOf(name)
    if (forms.size < mostForms) forms.set(name, form)
  }
  return form
}

function formOf(name: string): Form {
  const plain = name.toLowerCase().replace(/[_-]/g, '')
  let letters = 0
  for (let i = 0; i < plain.length; i++) letters |= 1 << (plain.charCodeAt(i) & 31)
  return { plain, letters }
}

function bits(value: number): number {
  let count = 0
  for (let rest = value; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Levenshtein's distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
