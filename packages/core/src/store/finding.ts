/** What a doctor says: one thing a line, and what a repair would do or has done about it. */
export interface Finding {
  /** `good`: looked at, in order. `note`: worth knowing. `wrong`: something is lost, or will be. */
  severity: "good" | "note" | "wrong";
  /** For a person, without a full stop. */
  what: string;
  /** What a repair does about it, as a command. Absent: nothing can or need be done. */
  remedy?: string;
  done?: boolean;
}

export const good = (what: string): Finding => ({ severity: "good", what });
export const note = (what: string): Finding => ({ severity: "note", what });
export const wrong = (what: string): Finding => ({ severity: "wrong", what });
