# awk -f svg.awk FIGURE.svg: what is wrong with a figure, a line each: tags that do not close, text that
# leaves the page.  A character counts as 0.55 of its font size; gnuplot's texts stand in groups with
# transform, font-size and text-anchor.
BEGIN {
    RS = "<"
    FS = ">"
}
NR == 1 { next }
/^[?!]/ { next }
{
    tag = $1
    name = tag
    sub(/[ \t\n\/].*/, "", name)
}
tag ~ /^\// {
    name = substr(tag, 2)
    sub(/[ \t\n].*/, "", name)
    if (depth == 0 || stack[depth] != name)
        print "</" name "> closes nothing"
    else
        depth--
    next
}
tag !~ /\/$/ { stack[++depth] = name }
name == "svg" && match(tag, /viewBox="[^"]*"/) {
    split(substr(tag, RSTART + 9, RLENGTH - 10), page, " ")
    pages++
}
name == "g" {
    attributes = tag
}
name == "text" {
    if (!match(attributes, /translate\([^)]*\)/))
        next
    split(substr(attributes, RSTART + 10, RLENGTH - 11), at, ",")
    turned = attributes ~ /rotate\((270|-90)/
    match(attributes, /font-size="[0-9.]*/)
    size = substr(attributes, RSTART + 11, RLENGTH - 11) + 0
    long = 0.55 * size * length($2)
    before = attributes ~ /anchor="middle"/ ? long / 2 : attributes ~ /anchor="end"/ ? long : 0
    after = long - before
    texts++
    if (turned ? at[1] - 0.8 * size < 0 || at[1] > page[3] || at[2] - after < 0 || at[2] + before > page[4] \
               : at[2] - 0.8 * size < 0 || at[2] + 0.2 * size > page[4] || at[1] - before < 0 || at[1] + after > page[3])
        print "\"" $2 "\" leaves the page"
}
END {
    if (depth > 0)
        print "<" stack[depth] "> is not closed"
    if (!pages)
        print "no page"
    if (!texts)
        print "no text"
}
