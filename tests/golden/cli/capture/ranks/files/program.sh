# program.sh FOLDER: the record of a rank as FOLDER/R has it: outcome, peak and reserved bytes; what came before it is kept for it.
rank=$MEMSCOPE_CAPTURE_RANK
echo "rank $rank finds $(ls "$MEMSCOPE_CAPTURE_KEPT" | grep from | tr '\n' ' ')" >&2
: > "$MEMSCOPE_CAPTURE_KEPT/from-$rank"
[ -f "$1/$rank" ] || exit 3
read -r outcome peak reserved < "$1/$rank"
if [ "$outcome" = interrupted ]; then kill -INT $PPID; sleep 60; fi
sed "s/OUTCOME/$outcome/; s/RANK/$rank/; s/PEAK/$peak/g; s/RESERVED/$reserved/g" report > "$MEMSCOPE_CAPTURE_DIR/0-$outcome-0000$rank-1.json"
for kind in pickle txt; do echo "of rank $rank" > "$MEMSCOPE_CAPTURE_DIR/0-$outcome-0000$rank-1.$kind"; done
