# SPDX-License-Identifier: Apache-2.0
# For tests with tests/cli/pytorch_train.py, which writes its samples and updates to a directory.

# seen_once DIRECTORY PASSES: whether each of the 300 samples was seen once in each pass, and more than PASSES passes were made.  The
# last one may be a part: it ends inside an epoch.
seen_once()
{
    awk -v passes="$2" '
        { for (i = 3; i <= NF; i++) { seen[$2, $i]++; all[$2]++ } if ($2 > last) last = $2 }
        END {
            for (pass = 0; pass <= last; pass++) {
                for (i = 0; i < 300; i++)
                    if (seen[pass, i] != 1 && (pass < last || seen[pass, i] > 1)) {
                        print "sample", i, "was seen", seen[pass, i] + 0, "times in pass", pass
                        exit 1
                    }
                if (all[pass] > 300 || (all[pass] < 300 && pass < last)) exit 1
            }
            exit last < passes
        }' "$1"/samples.*
}

# loss_is_smooth DIRECTORY COLUMN COUNT CHANGES: compare the mean losses of COUNT updates before and after each change of a
# column (2: generation, 3: replicas): the second may be larger by at most five standard errors.  There are CHANGES changes.
loss_is_smooth()
{
    awk -v column="$2" -v count="$3" -v expected="$4" '
        { loss[NR] = $6; value[NR] = $column }
        function mean (from,    k, sum, square) {
            for (k = 0; k < count; k++) { sum += loss[from + k]; square += loss[from + k] ^ 2 }
            variance = (square / count - (sum / count) ^ 2) / count
            return sum / count
        }
        END {
            for (i = count + 1; i <= NR - count + 1; i++) {
                if (value[i] == value[i - 1]) continue
                before = mean(i - count); spread = variance; after = mean(i); spread += variance
                changes++
                print "from", before, "to", after, "with", sqrt (spread)
                if (after - before > 5 * sqrt (spread)) exit 1
            }
            exit changes != expected
        }' "$1/updates.0"
}

# loss_falls DIRECTORY: whether the mean loss of the last 15 updates is at most 0.7 times that of the first 15.
loss_falls()
{
    awk '{ loss[NR] = $6 }
        END {
            for (i = 1; i <= 15; i++) { first += loss[i]; last += loss[NR - 15 + i] }
            print "from", first / 15, "to", last / 15
            exit last > 0.7 * first
        }' "$1/updates.0"
}
