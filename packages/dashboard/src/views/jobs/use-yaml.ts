/** YAML is loaded when it is first needed. */
import { useEffect, useState } from 'react'

type Yaml = typeof import('yaml')
let loaded: Yaml | null = null

/** Null while it is on its way. */
export function useYaml(): Yaml | null {
  const [yaml, set] = useState(loaded)
  useEffect(() => {
    if (loaded !== null) return
    void import('yaml').then((module) => {
      loaded = module
      set(module)
    })
  }, [])
  return yaml
}

export function yamlText(yaml: Yaml, value: unknown): string {
  return yaml.stringify(value, { lineWidth: 0 })
}
