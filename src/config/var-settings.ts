// MILLRACE_VAR_<name>: values of `vars` that the environment gives in place of the definitions.

import { VAR_SETTING, type VarSettings } from '../core/definitions/documents/index.ts'

/** As they are written: their type is that of the definition. An empty one counts as not set. */
export function readVarSettings(
  env: Readonly<Record<string, string | undefined>>,
  refuse: (setting: string, message: string) => void,
): VarSettings {
  const given: [string, string][] = []
  for (const [setting, text = ''] of Object.entries(env)) {
    if (!setting.startsWith(VAR_SETTING) || text.trim() === '') continue
    const name = setting.slice(VAR_SETTING.length)
    if (/^[A-Za-z_]\w*$/.test(name)) given.push([name, text.trim()])
    else
      refuse(
        setting,
        `‘${name}’ cannot be a name of \`vars\`. Write ${VAR_SETTING} and a name of letters, digits and \`_\`, as its definition has it.`,
      )
  }
  return Object.freeze(Object.fromEntries(given))
}
