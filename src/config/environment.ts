// The one place that reads the process's environment.

export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}
