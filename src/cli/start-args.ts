// The arguments of `millrace start`. A node starts without loading the code that talks to nodes, so this is read before
// all that.

export interface StartArgs {
  /** As written after `--role`, commas and all; none: not given. */
  readonly roles: readonly string[]
  /** Settings that other flags give, by the name of the setting. */
  readonly settings: Readonly<Record<string, string>>
}

/** Flags that say the same as a setting, and win over it. */
const SETTING_FLAGS = {
  '--accept-loss': 'MILLRACE_ACCEPT_LOSS',
  '--confirm-copy': 'MILLRACE_CONFIRM_COPY',
} as const

/** null: something else is written there, which the other commands' parser explains. */
export function readStartArgs(args: readonly string[]): StartArgs | null {
  const roles: string[] = []
  const settings: Record<string, string> = {}
  for (let at = 0; at < args.length; at += 1) {
    const [flag, value] = splitFlag(args[at] as string)
    const given = value ?? args[at + 1]
    if (given === undefined) return null
    if (flag === '--role') roles.push(given)
    else if (isSettingFlag(flag)) settings[SETTING_FLAGS[flag]] = given
    else return null
    if (value === null) at += 1
  }
  return { roles, settings }
}

function splitFlag(arg: string): [flag: string, value: string | null] {
  const at = arg.indexOf('=')
  return at === -1 ? [arg, null] : [arg.slice(0, at), arg.slice(at + 1)]
}

function isSettingFlag(flag: string): flag is keyof typeof SETTING_FLAGS {
  return Object.hasOwn(SETTING_FLAGS, flag)
}
