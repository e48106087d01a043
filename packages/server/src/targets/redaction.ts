/** Takes secrets out of texts that come back from a target: some services answer with the request they were sent. */
import { isExactNumber, readExactly } from '../lib/exact-json.ts'

const shortest = 4
const shortestPart = 8
const mark = '[secret]'

export class Redaction {
  /** Every form in which a text may hold them. Hosts and percent-encoding come back in either case, so all are compared in lower case. */
  readonly #forms: readonly string[]

  constructor(secrets: readonly string[]) {
    const found = new Set<string>()
    for (const secret of secrets) {
      // `Bearer abc`: the second part is the secret, and may come back alone. So may a line of a key.
      const parts = secret.split(/\s+/).filter((part) => part.length >= shortestPart)
      for (const text of [secret, ...parts]) {
        if (text.length >= shortest) for (const form of formsOf(text)) found.add(lowered(form))
      }
    }
    this.#forms = [...found]
  }

  /** There is nothing to take out. */
  get isEmpty(): boolean {
    return this.#forms.length === 0
  }

  clean(text: string): string {
    let clean = ''
    let from = 0
    for (const { start, end } of this.#places(text)) {
      clean += text.slice(from, start) + mark
      from = end
    }
    return clean + text.slice(from)
  }

  /** What a target answered: JSON is cleaned as what it means too, since `\u002B` is a plus sign once it is read. */
  cleanAnswer({ text, truncated }: { text: string; truncated: boolean }): string {
    if (this.isEmpty) return text
    if (truncated) return this.cleanPart(text.replace(/\uFFFD$/, '')).clean
    return this.cleanJson(this.clean(text))
  }

  /** Left as it is if it is no JSON, or holds no secret. */
  cleanJson(text: string): string {
    if (this.isEmpty || !text.includes('\\')) return text
    try {
      const read = readExactly(text)
      const clean = JSON.stringify(this.#cleanValue(read))
      return clean === JSON.stringify(read) ? text : clean
    } catch {
      return text
    }
  }

  /** A text that goes on elsewhere: `rest` at its end may be the beginning of a secret. */
  cleanPart(text: string): { clean: string; rest: string } {
    let clean = ''
    let from = 0
    let held = this.#heldFrom(text, 0)
    for (const { start, end } of this.#places(text)) {
      if (start >= held) break
      clean += text.slice(from, start) + mark
      from = end
      if (from > held) held = this.#heldFrom(text, from)
    }
    return { clean: clean + text.slice(from, held), rest: text.slice(held) }
  }

  /** Where secrets are, in order; those that overlap are one. No expression: one of keys would be too large, and an error would show it. */
  #places(text: string): { start: number; end: number }[] {
    const lower = lowered(text)
    const found: { start: number; end: number }[] = []
    for (const form of this.#forms) {
      for (let at = lower.indexOf(form); at >= 0; at = lower.indexOf(form, at + 1)) {
        found.push({ start: at, end: at + form.length })
      }
    }
    found.sort((a, b) => a.start - b.start)
    const places: { start: number; end: number }[] = []
    for (const place of found) {
      const last = places.at(-1)
      if (last && place.start < last.end) last.end = Math.max(last.end, place.end)
      else places.push(place)
    }
    return places
  }

  /** Where the longest end of the text begins that is the beginning of a secret. */
  #heldFrom(text: string, from: number): number {
    const lower = lowered(text)
    let held = 0
    for (const form of this.#forms) {
      const most = Math.min(form.length - 1, text.length - from)
      for (let length = most; length > held; length--) {
        if (lower[lower.length - length] === form[0] && lower.endsWith(form.slice(0, length))) held = length
      }
    }
    return text.length - held
  }

  #cleanValue(value: unknown): unknown {
    if (typeof value === 'string') return this.clean(value)
    if (Array.isArray(value)) return value.map((each) => this.#cleanValue(each))
    if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [this.clean(name), this.#cleanValue(each)]))
  }
}

/** What may come back of a URL that is a secret: what follows the origin, the host, and parts that are long enough to be meant. */
export function partsOfUrl(url: URL): string[] {
  const { href, host, hostname, pathname, search, searchParams } = url
  const parts = [`${pathname}${search}`, pathname, search, ...pathname.split('/'), ...searchParams.values()]
  const long = parts.filter((part) => part.length >= shortestPart)
  return [href, host, hostname, ...long, ...long.flatMap(decoded)]
}

/** As it is, in JSON (some write `\/`), in a URL and in HTML. */
function formsOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const html = text.replace(/[&<>"']/g, (sign) => `&${htmlNames[sign]};`)
  return [text, json, json.replaceAll('/', '\\/'), encodeURIComponent(text), html]
}

const htmlNames: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }

function decoded(part: string): string[] {
  try {
    return [decodeURIComponent(part)]
  } catch {
    return []
  }
}

/** Of ASCII only, so that places in it are places in the text. */
function lowered(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
